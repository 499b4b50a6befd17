// Small floats: codes and rounding.
#include <cmath>
#include <limits>

#include "tests/gpu/ptx/device/device.h"

namespace {

struct Format {
  int exponent_bits, mantissa_bits;
  bool has_sign, has_infinity;
  u32 max_code;  // the greatest finite code, without a sign
  u32 nan;       // 0: no NaN
  int shift;     // shift of the code in its register
};

// Ordered like device.h. "e4m3 has no infinity; NaN is 0x7f"; "e2m1, e2m3, e3m2: no NaN, no infinity".
constexpr Format kFormats[] = {
    {5, 10, true, true, 0x7bff, 0x7fff, 0},
    {8, 7, true, true, 0x7f7f, 0x7fff, 0},
    {8, 10, true, true, 0x3fbff, 0x3ffff, 13},
    {8, 23, true, true, 0x7f7fffff, 0x7fffffff, 0},
    {4, 3, true, false, 0x7e, 0x7f, 0},
    {5, 2, true, true, 0x7b, 0x7f, 0},
    {2, 1, true, false, 0x7, 0, 0},
    {2, 3, true, false, 0x1f, 0, 0},
    {3, 2, true, false, 0x1f, 0, 0},
    {8, 0, false, false, 0xfe, 0xff, 0},
};

int bias(const Format& format) {
  return (1 << (format.exponent_bits - 1)) - 1;
}

// Rounds a scaled magnitude to an integer.
long double rounded(long double value, int mode, bool negative) {
  const long double below = std::floor(value), rest = value - below;
  if (rest == 0) return below;
  switch (mode) {
    case TERN_RN: return rest > 0.5L || (rest == 0.5L && std::fmod(below, 2.0L) != 0) ? below + 1 : below;
    case TERN_RNA: return rest >= 0.5L ? below + 1 : below;
    case TERN_RM: return negative ? below + 1 : below;
    case TERN_RP: return negative ? below : below + 1;
    default: return below;
  }
}

u32 overflow(const Format& format, int mode, bool finite, bool negative) {
  const bool away = mode == TERN_RN || mode == TERN_RNA || mode == (negative ? TERN_RM : TERN_RP);
  return finite || !format.has_infinity || !away ? format.max_code : format.max_code + 1;
}

// The unsigned code of a finite magnitude.
u32 magnitude(const Format& format, int mode, bool finite, bool negative, long double value) {
  if (value == 0) return 0;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int least = 1 - bias(format);
  exponent = exponent - 1 < least ? least : exponent - 1;
  const long double units = rounded(std::ldexp(value, format.mantissa_bits - exponent), mode, negative);
  // A carry into the exponent is correct: codes are ordered by value.
  const long double code = units + std::ldexp(static_cast<long double>(exponent - least), format.mantissa_bits);
  return code > format.max_code ? overflow(format, mode, finite, negative) : static_cast<u32>(code);
}

}  // namespace

extern "C" {

u32 tern_ptx_encode(int number, int mode, int finite, long double value) {
  const Format& format = kFormats[number];
  // "NaN is converted to positive MAX_NORM" in formats without NaN.
  if (std::isnan(value)) return (format.nan ? format.nan : format.max_code) << format.shift;
  if (number == TERN_UE8M0) {  // only powers of two, from 2^-127 on
    if (value <= 0) return 0;
    int exponent = 0;
    const long double fraction = std::frexp(value, &exponent);
    const int code = exponent - 1 + 127 + (mode == TERN_RP && fraction != 0.5L);
    return code < 0 ? 0 : code > 0xfe ? 0xfe : static_cast<u32>(code);
  }
  const bool negative = std::signbit(value);
  const long double size = std::fabs(value);
  u32 code = 0;
  if (std::isinf(size)) {
    code = finite || !format.has_infinity ? format.max_code : format.max_code + 1;
  } else {
    code = magnitude(format, mode, finite, negative, size);
  }
  return (code | static_cast<u32>(negative) << (format.exponent_bits + format.mantissa_bits)) << format.shift;
}

f64 tern_ptx_decode(int number, u32 code) {
  const Format& format = kFormats[number];
  code >>= format.shift;
  if (number == TERN_UE8M0) {
    return code == 0xff ? std::numeric_limits<f64>::quiet_NaN() : std::ldexp(1.0, static_cast<int>(code) - 127);
  }
  const int bits = format.exponent_bits + format.mantissa_bits;
  const bool negative = code >> bits & 1;
  code &= (1u << bits) - 1;
  f64 value = 0;
  if (code > format.max_code) {
    const bool infinite = format.has_infinity && code == format.max_code + 1;
    value = infinite ? std::numeric_limits<f64>::infinity() : std::numeric_limits<f64>::quiet_NaN();
  } else {
    const u32 exponent = code >> format.mantissa_bits, mantissa = code & ((1u << format.mantissa_bits) - 1);
    const u32 units = mantissa | (exponent ? 1u << format.mantissa_bits : 0);
    value = std::ldexp(static_cast<f64>(units),
                       static_cast<int>(exponent ? exponent : 1) - bias(format) - format.mantissa_bits);
  }
  return negative ? -value : value;
}

}  // extern "C"
