#include "schema/op_record.h"

#include <array>

#include "schema/ops/contractions.h"
#include "schema/ops/control.h"
#include "schema/ops/indexing.h"
#include "schema/ops/linalg.h"
#include "schema/ops/microscaling.h"
#include "schema/ops/movement.h"
#include "schema/ops/pointwise.h"
#include "schema/ops/reductions.h"
#include "schema/ops/training.h"

namespace tern {
namespace {

/// Arities, and the traits that others imply.
constexpr void derive(OpRecord& r) {
  OperandName name;
  int at = 0;
  for (std::string_view list = operands_of(r.signature); next_operand(list, &name); ++at) {
    const bool many = name.mark == '*' || name.mark == '+';
    if (name.mark == ' ' || name.mark == '+') r.min_inputs = static_cast<std::int16_t>(at + 1);
    r.max_inputs = static_cast<std::int16_t>(many ? -1 : at + 1);
  }
  at = 0;
  for (std::string_view list = results_of(r.signature); next_operand(list, &name); ++at) {
    const bool fixed = name.mark == ' ' || name.mark == '!';
    r.outputs = static_cast<std::int16_t>(fixed && r.outputs >= 0 ? at + 1 : -1);
  }
  if (!r.is(Trait::effect) && !r.is(Trait::host) && !r.is(Trait::data_sized))
    r.traits |= static_cast<std::uint16_t>(Trait::offered);
}

using Table = std::array<OpRecord, kMaxOp + 1>;
constexpr Table kRecords = [] {
  Table table{};
  const auto add = [&table](std::span<const OpRecord> family) {
    for (const OpRecord& r : family) {
      OpRecord& line = table[static_cast<std::size_t>(r.op)];
      line = r;
      derive(line);
    }
  };
  add(ops::kMovement);
  add(ops::kPointwiseOps);
  add(ops::kReductions);
  add(ops::kIndexing);
  add(ops::kContractions);
  add(ops::kLinalg);
  add(ops::kTraining);
  add(ops::kMicroscaling);
  add(ops::kControl);
#define TERN_OP_NAME(number, name_) table[number].name = #name_;
  TERN_OPS(TERN_OP_NAME)
#undef TERN_OP_NAME
  return table;
}();

#define TERN_OP_CHECK(number, name_) static_assert(kRecords[number].op == Op::name_, "op " #name_ " has no record");
TERN_OPS(TERN_OP_CHECK)
#undef TERN_OP_CHECK

/// For each op and key: the position of its attribute plus one, or 0. Lookups are on the way of every run.
using Positions = std::array<std::array<std::uint8_t, kMaxAttr + 1>, kMaxOp + 1>;
constexpr Positions kPositions = [] {
  Positions positions{};
  for (std::size_t op = 0; op < kRecords.size(); ++op) {
    const auto& attributes = kRecords[op].attributes;
    for (std::size_t i = 0; i < attributes.size(); ++i) {
      positions[op][static_cast<std::size_t>(attributes[i].key)] = static_cast<std::uint8_t>(i + 1);
    }
  }
  return positions;
}();

}  // namespace

const OpRecord& op_record(Op op) {
  const auto i = static_cast<std::size_t>(op);
  return i < kRecords.size() ? kRecords[i] : kRecords[0];
}

const AttrRecord* find_attribute(Op op, AttrKey key) {
  const auto i = static_cast<std::size_t>(op), k = static_cast<std::size_t>(key);
  if (i >= kRecords.size() || k > static_cast<std::size_t>(kMaxAttr) || kPositions[i][k] == 0) return nullptr;
  return &kRecords[i].attributes[kPositions[i][k] - std::size_t{1}];
}

std::vector<std::string_view> trait_names(const OpRecord& record) {
  constexpr std::string_view kNames[] = {"view", "effect",  "plain",   "foldable",   "data-sized",   "random",
                                         "host", "control", "offered", "reads-part", "may-be-unread"};
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if ((record.traits >> i & 1) != 0) names.push_back(kNames[i]);
  }
  return names;
}

bool is_needed_result(const OpRecord& record, std::size_t k) {
  OperandName name;
  std::string_view list = results_of(record.signature);
  for (std::size_t i = 0; next_operand(list, &name); ++i) {
    if (i == k) return name.mark == '!';
  }
  return false;
}

std::string_view op_name(Op op) {
  return op_record(op).name;
}

Op op_from_name(std::string_view name) {
  for (const OpRecord& r : kRecords) {
    if (r.op != Op::invalid && r.name == name) return r.op;
  }
  return Op::invalid;
}

std::string_view attr_type_name(AttrType type) {
  constexpr std::string_view kNames[] = {"boolean", "integer", "dim",    "integers", "dims",
                                         "axis",    "axes",    "number", "numbers",  "dims or numbers",
                                         "dtype",   "one of",  "text",   "symbols"};
  return kNames[static_cast<std::size_t>(type)];
}

}  // namespace tern
