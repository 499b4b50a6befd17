// All properties of an op in one record: number, name, operands and results, attributes with types, defaults and
// bounds, traits, shape rule, cost. The records are in schema/ops/; every other list of ops derives from them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "schema/op.h"

namespace tern {

struct Node;
class Inference;

enum class AttrType : std::uint8_t {
  boolean,          ///< 0 or 1
  integer,          ///< a constant
  dim,              ///< an integer or a size expression
  integers,         ///< constants
  dims,             ///< integers or size expressions
  axis,             ///< an axis of the first operand; negative numbers count from the last
  axes,             ///< distinct axes
  number,           ///< a double
  numbers,          ///< doubles
  dims_or_numbers,  ///< either list
  dtype,            ///< a number of tern/dtype.h
  enumeration,      ///< the position in AttrRecord::names
  text,             ///< any text, or one of AttrRecord::names if given
  symbols,          ///< symbols bound by the node, or their values
};
std::string_view attr_type_name(AttrType type);

enum class Presence : std::uint8_t {
  required,
  defaulted,  ///< accessors of Node return the default if the attribute is absent
  optional,   ///< absence has a meaning of its own, see AttrRecord::absent
};

/// Meaning of a key on one op.
struct AttrRecord {
  AttrKey key{};
  AttrType type{};
  Presence presence = Presence::required;
  bool ordered = false;      ///< numbers lie in `lowest`..`highest`, so none is NaN
  std::int16_t count = -1;   ///< values of a list; -1: any number
  std::int64_t integer = 0;  ///< the default, of each element of a list
  double number = 0;         ///< the default of a number, of each element of a list
  std::int64_t min = std::numeric_limits<std::int64_t>::min(), max = std::numeric_limits<std::int64_t>::max();
  double lowest = -std::numeric_limits<double>::infinity(), highest = std::numeric_limits<double>::infinity();
  std::span<const std::string_view> names;
  std::string_view absent;  ///< replacement for an absent optional attribute: "the dtype of x"
  std::string_view text;
};

enum class Trait : std::uint16_t {
  view = 1,              ///< changes strides only, without work, if the operand's strides allow
  effect = 2,            ///< has effects besides its results: never removed, never computed at export
  plain = 4,             ///< each result element is constant, or a function of few operand elements
  foldable = 8,          ///< computed at export if its operands are constant
  data_sized = 16,       ///< computes sizes of its results, and binds them to its `symbols`
  random = 32,           ///< draws from the session's random generator
  host = 64,             ///< executed by the runtime, without a kernel
  control = 128,         ///< runs other functions
  offered = 256,         ///< depends on its operands only: offered to devices
  reads_part = 512,      ///< reads at most one element of the first operand per result element
  may_be_unread = 1024,  ///< all results may be absent: the node runs for its effects
};

using OperandSizes = std::span<const std::int64_t>;
/// Floating operations of a node; absent operands have no sizes.
using OperationsFn = double (*)(const Node& node, std::span<const OperandSizes> in, std::span<const OperandSizes> out);

/// Computes the types of a node's results, and checks the node (schema/infer.h).
using InferFn = void (*)(Inference&);

struct OpRecord {
  Op op = Op::invalid;
  std::string_view name;
  /// "x, weight?, others* -> y, indices?": names of operands and results. ? optional, * any number, + one or more; !
  /// required even if another result is present.
  std::string_view signature;
  std::string_view text;  ///< description of the computation
  std::span<const AttrRecord> attributes;
  std::uint16_t traits = 0;  ///< bits of Trait
  std::int16_t bodies = 0;   ///< functions named by a node
  std::int16_t version = 1;  ///< newest version known to this build
  InferFn infer = nullptr;
  OperationsFn operations = nullptr;
  // Derived.
  std::int16_t min_inputs = 0, max_inputs = 0, outputs = 0;  ///< -1: any number

  constexpr bool has_trait(Trait t) const { return (traits & static_cast<std::uint16_t>(t)) != 0; }
};

/// Returns the op's record; for unknown ops a record with Op::invalid.
const OpRecord& op_record(Op op);
inline bool has_trait(Op op, Trait t) {
  return op_record(op).has_trait(t);
}
inline bool is_view(Op op) {
  return has_trait(op, Trait::view);
}
/// Meaning of `key` on this op; null if none.
const AttrRecord* find_attribute(Op op, AttrKey key);

/// Display names of the traits: "data-sized".
std::vector<std::string_view> trait_names(const OpRecord& record);

/// A name of a signature: "bias" and '?'; ' ' without a mark.
struct OperandName {
  std::string_view name;
  char mark = ' ';
};
/// Removes the next name from a list; false at the end.
constexpr bool next_operand(std::string_view& list, OperandName* name) {
  while (!list.empty() && (list.front() == ' ' || list.front() == ',')) list.remove_prefix(1);
  if (list.empty()) return false;
  const std::size_t length = std::min(list.find(','), list.size());
  name->name = list.substr(0, length);
  list.remove_prefix(length);
  while (name->name.back() == ' ') name->name.remove_suffix(1);
  name->mark = ' ';
  if (std::string_view("?*+!").find(name->name.back()) != std::string_view::npos) {
    name->mark = name->name.back();
    name->name.remove_suffix(1);
  }
  return true;
}
constexpr std::string_view operands_of(std::string_view signature) {
  return signature.substr(0, signature.find("->"));
}
/// True if result `k` is required even if others are present.
bool is_needed_result(const OpRecord& record, std::size_t k);
/// Returns an empty list for ops unknown to this build.
constexpr std::string_view results_of(std::string_view signature) {
  const std::size_t arrow = signature.find("->");
  return arrow == std::string_view::npos ? std::string_view() : signature.substr(arrow + 2);
}

}  // namespace tern
