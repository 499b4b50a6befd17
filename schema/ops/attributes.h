// Notation of attributes in this folder's tables: required, defaulted and optional attributes.
#pragma once

#include <tern/dtype.h>

#include <limits>

#include "schema/op_record.h"

namespace tern::ops {

inline constexpr std::int64_t kHuge = std::int64_t{1} << 48;
/// Kernel sizes, strides, dilations and paddings lie in 1..kMaxWindow (paddings from 0), so that products of two fit 64
/// bits.
inline constexpr std::int64_t kMaxWindow = (std::int64_t{1} << 31) - 1;

/// An attribute with its properties: required(AttrKey::k, AttrType::integer, "how many").bounds(1, 8).
struct Attribute : AttrRecord {
  constexpr Attribute bounds(std::int64_t min_value, std::int64_t max_value) const {
    Attribute a = *this;
    a.min = min_value;
    a.max = max_value;
    return a;
  }
  constexpr Attribute minimum(std::int64_t value) const {
    Attribute a = *this;
    a.min = value;
    return a;
  }
  constexpr Attribute not_negative() const {
    Attribute a = any_number();
    a.lowest = 0;
    return a;
  }
  constexpr Attribute finite() const {
    Attribute a = any_number();
    a.highest = std::numeric_limits<double>::max();
    a.lowest = -a.highest;
    return a;
  }
  constexpr Attribute any_number() const {  // but no NaN
    Attribute a = *this;
    a.ordered = true;
    return a;
  }
  constexpr Attribute exactly(int values) const {
    Attribute a = *this;
    a.count = static_cast<std::int16_t>(values);
    return a;
  }
  constexpr Attribute one_of(std::span<const std::string_view> list) const {
    Attribute a = *this;
    a.names = list;
    return a;
  }
};

constexpr Attribute required(AttrKey key, AttrType type, std::string_view text) {
  Attribute a;
  a.key = key;
  a.type = type;
  a.text = text;
  if (type == AttrType::boolean) return a.bounds(0, 1);
  if (type == AttrType::dtype) return a.bounds(1, kTensorDTypeCount - 1);
  return a;
}
constexpr Attribute required(AttrKey key, std::span<const std::string_view> names, std::string_view text) {
  return required(key, AttrType::enumeration, text)
      .one_of(names)
      .bounds(0, static_cast<std::int64_t>(names.size()) - 1);
}

/// Adds a default, for each element of a list.
constexpr Attribute defaulted(Attribute a, std::int64_t otherwise) {
  a.presence = Presence::defaulted;
  a.integer = otherwise;
  return a;
}
constexpr Attribute defaulted(AttrKey key, AttrType type, std::int64_t otherwise, std::string_view text) {
  return defaulted(required(key, type, text), otherwise);
}
constexpr Attribute defaulted(AttrKey key, std::span<const std::string_view> names, std::int64_t otherwise,
                              std::string_view text) {
  return defaulted(required(key, names, text), otherwise);
}
constexpr Attribute defaulted_number(AttrKey key, double otherwise, std::string_view text,
                                     AttrType type = AttrType::number) {
  Attribute a = required(key, type, text);
  a.presence = Presence::defaulted;
  a.number = otherwise;
  return a;
}
/// Boolean attribute, false by default.
constexpr Attribute flag(AttrKey key, std::string_view text) {
  return defaulted(key, AttrType::boolean, 0, text);
}

/// Optional attribute; `absent` describes the replacement.
constexpr Attribute optional_attribute(AttrKey key, AttrType type, std::string_view absent, std::string_view text) {
  Attribute a = required(key, type, text);
  a.presence = Presence::optional;
  a.absent = absent;
  return a;
}

/// A record under construction, begun by TERN_OP.
struct Record : OpRecord {
  constexpr Record attrs(std::span<const AttrRecord> list) const {
    Record r = *this;
    r.attributes = list;
    return r;
  }
  template <class... T>
  constexpr Record traits_of(T... list) const {
    Record r = *this;
    r.traits = static_cast<std::uint16_t>((0 | ... | static_cast<int>(list)));
    return r;
  }
  constexpr Record body_count(int functions) const {
    Record r = *this;
    r.bodies = static_cast<std::int16_t>(functions);
    return r;
  }
  constexpr Record costs(OperationsFn f) const {
    Record r = *this;
    r.operations = f;
    return r;
  }
  constexpr Record rule(InferFn f) const {
    Record r = *this;
    r.infer = f;
    return r;
  }
};
constexpr Record record(Op op, std::string_view name, std::string_view signature, std::string_view text) {
  Record r;
  r.op = op;
  r.name = name;
  r.signature = signature;
  r.text = text;
  return r;
}

/// An op: TERN_OP(23, sort, "x -> values, indices", "each line in order").rule(sort). The build parses number and name
/// from these lines for the enum Op (schema/op_list.cmake), so both must be on one line.
#define TERN_OP(number, name, signature, text) record(static_cast<Op>(number), #name, signature, text)

// Attributes of several families.
inline constexpr Attribute kAlongAxis = required(AttrKey::axis, AttrType::axis, "along which");
inline constexpr Attribute kUpperTriangle = flag(AttrKey::upper, "the upper triangle, not the lower one");

}  // namespace tern::ops
