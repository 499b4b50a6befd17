// Arithmetic of sizes, and floats as integers, defined for every operand: for untrusted values from files or a run's
// data.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace tern {

/// False if the result does not fit 64 bits, or `b` is zero; *out is then undefined.
constexpr bool checked_add(std::int64_t a, std::int64_t b, std::int64_t* out) {
  return !__builtin_add_overflow(a, b, out);
}
constexpr bool checked_sub(std::int64_t a, std::int64_t b, std::int64_t* out) {
  return !__builtin_sub_overflow(a, b, out);
}
constexpr bool checked_mul(std::int64_t a, std::int64_t b, std::int64_t* out) {
  return !__builtin_mul_overflow(a, b, out);
}
constexpr bool checked_neg(std::int64_t a, std::int64_t* out) {
  return checked_sub(0, a, out);
}
/// Rounds toward zero, like C++.
constexpr bool checked_div(std::int64_t a, std::int64_t b, std::int64_t* out) {
  if (b == 0) return false;
  if (b == -1) return checked_neg(a, out);
  *out = a / b;
  return true;
}
/// True if `a` is a multiple of `b`; zero has no multiples.
constexpr bool is_multiple(std::int64_t a, std::int64_t b) {
  return b != 0 && (b == -1 || a % b == 0);
}
/// Rounds down.
constexpr bool checked_floordiv(std::int64_t a, std::int64_t b, std::int64_t* out) {
  if (!checked_div(a, b, out)) return false;
  if (!is_multiple(a, b) && (a < 0) != (b < 0)) --*out;
  return true;
}
/// The remainder of checked_floordiv, with the sign of `b`.
constexpr bool checked_mod(std::int64_t a, std::int64_t b, std::int64_t* out) {
  if (b == 0) return false;
  *out = b == -1 ? 0 : a % b;
  if (*out != 0 && (*out < 0) != (b < 0)) *out += b;
  return true;
}

/// Truncates toward zero; values outside the integer's range give the nearest end, and NaN gives 0.
template <class Int = std::int64_t, class Float>
constexpr Int clamped_to(Float v) {
  static_assert(std::is_floating_point_v<Float>);
  constexpr auto smallest = static_cast<Float>(std::numeric_limits<Int>::min());
  constexpr auto beyond = static_cast<Float>(std::numeric_limits<Int>::max() / 2 + 1) * 2;  // a power of two
  if (v >= beyond) return std::numeric_limits<Int>::max();
  if (v > smallest) return static_cast<Int>(v);
  return v <= smallest ? std::numeric_limits<Int>::min() : Int{0};
}

}  // namespace tern
