#include "schema/op_record.h"

#include <array>

#include "schema/ops/families.h"

namespace tern {
namespace {

/// Derives arities (-1: unbounded) and implied traits. Marks in a signature (op_record.h): '*' and '+' are lists.
void derive(OpRecord& r) {
  OperandName name;
  int index = 0;
  for (std::string_view list = operands_of(r.signature); next_operand(list, &name); ++index) {
    const bool is_list = name.mark == '*' || name.mark == '+';
    if (name.mark == ' ' || name.mark == '+') r.min_inputs = static_cast<std::int16_t>(index + 1);
    r.max_inputs = static_cast<std::int16_t>(is_list ? -1 : index + 1);
  }
  index = 0;
  for (std::string_view list = results_of(r.signature); next_operand(list, &name); ++index) {
    const bool is_single = name.mark == ' ' || name.mark == '!';
    r.outputs = static_cast<std::int16_t>(is_single && r.outputs >= 0 ? index + 1 : -1);
  }
  if (!r.has_trait(Trait::effect) && !r.has_trait(Trait::host) && !r.has_trait(Trait::data_sized))
    r.traits |= static_cast<std::uint16_t>(Trait::offered);
}

/// Records and attribute positions, indexed for speed: every run performs many lookups.
struct Tables {
  std::array<OpRecord, kMaxOp + 1> records{};
  /// Position of an attribute in its record plus one, by op and key; 0 if absent.
  std::array<std::array<std::uint8_t, kMaxAttr + 1>, kMaxOp + 1> positions{};

  void add(std::span<const OpRecord> family) {
    for (const OpRecord& r : family) {
      const auto op = static_cast<std::size_t>(r.op);
      records[op] = r;
      derive(records[op]);
      for (std::size_t i = 0; i < r.attributes.size(); ++i) {
        positions[op][static_cast<std::size_t>(r.attributes[i].key)] = static_cast<std::uint8_t>(i + 1);
      }
    }
  }
};

const Tables& tables() {
  static const Tables cached_tables = [] {
    Tables t;
#define TERN_ADD_FAMILY(name) t.add(ops::name##_ops());
    TERN_FAMILIES(TERN_ADD_FAMILY)
#undef TERN_ADD_FAMILY
    return t;
  }();
  return cached_tables;
}

}  // namespace

const OpRecord& op_record(Op op) {
  const auto i = static_cast<std::size_t>(op);
  return tables().records[i <= kMaxOp ? i : 0];
}

const AttrRecord* find_attribute(Op op, AttrKey key) {
  const auto i = static_cast<std::size_t>(op), k = static_cast<std::size_t>(key);
  if (i > kMaxOp || k > static_cast<std::size_t>(kMaxAttr)) return nullptr;
  const Tables& cached_tables = tables();
  const std::size_t position = cached_tables.positions[i][k];
  return position == 0 ? nullptr : &cached_tables.records[i].attributes[position - 1];
}

std::vector<std::string_view> trait_names(const OpRecord& record) {
  constexpr std::string_view kTraitNames[] = {"view", "effect",  "plain",   "foldable",   "data-sized",   "random",
                                              "host", "control", "offered", "reads-part", "may-be-unread"};
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < std::size(kTraitNames); ++i) {
    if ((record.traits >> i & 1) != 0) names.push_back(kTraitNames[i]);
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
  for (const OpRecord& r : tables().records) {
    if (r.op != Op::invalid && r.name == name) return r.op;
  }
  return Op::invalid;
}

std::string_view attr_type_name(AttrType type) {
  constexpr std::string_view kAttrTypeNames[] = {"boolean", "integer", "dim",    "integers", "dims",
                                                 "axis",    "axes",    "number", "numbers",  "dims or numbers",
                                                 "dtype",   "one of",  "text",   "symbols"};
  return kAttrTypeNames[static_cast<std::size_t>(type)];
}

}  // namespace tern
