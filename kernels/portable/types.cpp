#include "kernels/portable/types.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <bit>
#include <cmath>

#include "dtypes/cast.h"
#include "schema/pointwise.h"

namespace tern::portable {
namespace {

bool is_float_pair(DType t) {
  return t == DType::c64 || t == DType::c128;
}
DType part_of(DType t) {
  return t == DType::c128 ? DType::f64 : DType::f32;
}
/// True for types stored as codes and computed in float.
bool is_small(DType t) {
  return is_floating(t) && t != DType::f32 && t != DType::f64;
}

}  // namespace

std::string type_name(DType t) {
  switch (t) {
    case DType::boolean: return "boolean";
    case DType::u8: return "u8";
    case DType::i8: return "i8";
    case DType::i16: return "i16";
    case DType::i32: return "i32";
    case DType::i64: return "i64";
    case DType::u16: return "u16";
    case DType::u32: return "u32";
    case DType::u64: return "u64";
    case DType::f16: return "f16";
    case DType::bf16: return "bf16";
    case DType::f32: return "f32";
    case DType::f64: return "f64";
    case DType::c32: return "c32";
    case DType::c64: return "c64";
    case DType::c128: return "c128";
    case DType::f8_e4m3fn: return "f8_e4m3fn";
    case DType::f8_e5m2: return "f8_e5m2";
    case DType::f8_e4m3fnuz: return "f8_e4m3fnuz";
    case DType::f8_e5m2fnuz: return "f8_e5m2fnuz";
    case DType::f8_e8m0: return "f8_e8m0";
    case DType::f6_e2m3: return "f6_e2m3";
    case DType::f6_e3m2: return "f6_e3m2";
    case DType::f4_e2m1: return "f4_e2m1";
    case DType::i4:
    case DType::i2:
    case DType::invalid: break;
  }
  fail(ErrorCode::internal, "a kernel's elements need a type");
}

std::string c_type(DType t) {
  return "tern_" + type_name(t);
}

std::string converted(DType from, DType to, const std::string& value, Overflow overflow) {
  if (from == to) return value;
  std::string v = value;
  if (is_small(from)) {
    v = fmt::format("tern_{}_to_f32({})", type_name(from), v);
    from = DType::f32;
  } else if (from == DType::c32) {
    v = fmt::format("tern_c32_to_c64({})", v);
    from = DType::c64;
  }
  if (from == to) return v;
  if (to == DType::boolean) {
    return is_float_pair(from) ? fmt::format("(tern_boolean)(({0}).x != 0 || ({0}).y != 0)", v)
                               : fmt::format("(tern_boolean)(({}) != 0)", v);
  }
  if (to == DType::c32) return fmt::format("tern_c64_to_c32({})", converted(from, DType::c64, v));
  if (is_float_pair(to)) {
    const std::string part = c_type(part_of(to));
    return is_float_pair(from) ? fmt::format("tern_make_{0}(({1})({2}).x, ({1})({2}).y)", type_name(to), part, v)
                               : fmt::format("tern_make_{0}(({1})({2}), ({1})0)", type_name(to), part, v);
  }
  if (is_float_pair(from)) {
    v = fmt::format("({}).x", v);
    from = part_of(from);
    if (from == to) return v;
  }
  if (is_small(to)) {
    const char* policy = to == DType::f8_e4m3fn && overflow == Overflow::to_nan ? "_nan" : "";
    return fmt::format("tern_f32_to_{}{}((float)({}))", type_name(to), policy, v);
  }
  if (is_floating(from) && is_integral(to)) return fmt::format("tern_{}_to_{}({})", type_name(from), type_name(to), v);
  return fmt::format("({})({})", c_type(to), v);
}

std::string literal(DType t, double real, double imaginary) {
  switch (t) {
    case DType::f32:
      return fmt::format("tern_f32_of(0x{:08x}u)", std::bit_cast<std::uint32_t>(static_cast<float>(real)));
    case DType::f64: return fmt::format("tern_f64_of(0x{:016x}ul)", std::bit_cast<std::uint64_t>(real));
    case DType::c64:
    case DType::c128:
      return fmt::format("tern_make_{}({}, {})", type_name(t), literal(part_of(t), real),
                         literal(part_of(t), imaginary));
    default: break;
  }
  if (is_small(t)) return converted(DType::f32, t, literal(DType::f32, real));
  return literal(t, float_to_int<std::int64_t>(real));
}

std::string literal(DType t, std::int64_t value) {
  if (is_floating(t) || is_complex(t)) return literal(t, static_cast<double>(value));
  return fmt::format("({})0x{:x}ul", c_type(t), static_cast<std::uint64_t>(value));
}

DType number_type(DType t) {
  return t == DType::boolean ? DType::i64 : compute_type(t);
}

std::string lowest_or_highest(DType t, bool lowest) {
  switch (t) {
    case DType::i64: return lowest ? "(tern_i64)0x8000000000000000ul" : "(tern_i64)0x7ffffffffffffffful";
    case DType::u64: return lowest ? "(tern_u64)0" : "(tern_u64)0xfffffffffffffffful";
    case DType::f64: return lowest ? "(double)-TERN_INFINITY" : "(double)TERN_INFINITY";
    default: return lowest ? "-TERN_INFINITY" : "TERN_INFINITY";
  }
}

DType wide_type(DType t, bool has_double) {
  if (!has_double) return t;
  return t == DType::f32 ? DType::f64 : t == DType::c64 ? DType::c128 : t;
}

bool needs_double(DType t) {
  return t == DType::f64 || t == DType::c128;
}

}  // namespace tern::portable
