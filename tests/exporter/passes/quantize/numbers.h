// Recreates the inputs that tests/data/quantize/make.py quantizes with torchao.
#pragma once

#include <cmath>
#include <cstring>
#include <string_view>
#include <vector>

#include "dtypes/convert.h"

namespace tern::testing {

inline constexpr std::int64_t kGoldenRows = 2048, kGoldenColumns = 256;

/// splitmix64
inline std::uint64_t random_bits(std::uint64_t stream, std::uint64_t i) {
  std::uint64_t z = (i + (stream << 32)) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/// Masks of the type's bits.
struct GoldenBits {
  int digits;
  std::uint32_t tiny, quiet, payload, infinity, sign, one;
};
inline GoldenBits golden_bits(DType t) {
  if (t == DType::f32) return {24, 0x80ffffff, 0x7fc00000, 0x803fffff, 0x7f800000, 0x80000000, 0x3f800000};
  if (t == DType::bf16) return {8, 0x80ff, 0x7fc0, 0x803f, 0x7f80, 0x8000, 0x3f80};
  return {11, 0x87ff, 0x7e00, 0x81ff, 0x7c00, 0x8000, 0x3c00};
}

/// The bits of element i of input set `kind`, index `set`.
inline std::uint32_t golden_number(DType t, std::string_view kind, std::uint64_t set, std::uint64_t i) {
  const GoldenBits b = golden_bits(t);
  const std::uint64_t u = random_bits(2 * set, i), v = random_bits(2 * set + 1, i / 16);
  const bool narrow = t == DType::f16;
  double x = 0;
  if (kind == "codes") {
    const double sign = (u >> 40 & 1) != 0 ? -1 : 1;
    x = std::ldexp(sign * static_cast<double>(128 + (u & 127)), -7 - static_cast<int>((u >> 8) % (narrow ? 10 : 24)));
  } else if (kind == "ties") {
    x = std::ldexp(static_cast<double>(u % 511) - 255, static_cast<int>(v % 5) - 10);
  } else {
    const int spread = static_cast<int>(v % (narrow ? 12 : 60)) - (narrow ? 6 : 30);
    const int exponent = kind == "near" ? static_cast<int>(v % 7) - 3 : spread;
    const double whole = static_cast<double>(u & ((1u << b.digits) - 1)) - static_cast<double>(1u << (b.digits - 1));
    x = std::ldexp(whole, exponent - (b.digits - 1));
  }
  const auto number = static_cast<float>(x);
  std::uint32_t bits = 0;
  convert(&number, DType::f32, &bits, t, 1);
  const auto low = static_cast<std::uint32_t>(u);
  const bool rare = (u >> 32) % 499 == 0;
  if (kind == "tiny") return low & b.tiny;
  if (kind == "zeros" && i % kGoldenColumns == 0) return b.one;
  if (kind == "zeros" && v % 3 == 0) return low & b.sign;
  if (kind == "nan" && rare) return (low & b.payload) | b.quiet;
  if (kind == "infinite" && rare) return (low & b.sign) | b.infinity;
  return bits;
}

inline std::vector<std::byte> golden_numbers(DType t, std::string_view kind, std::uint64_t set) {
  const auto size = static_cast<std::size_t>(element_size(t));
  const auto count = static_cast<std::size_t>(kGoldenRows * kGoldenColumns);
  std::vector<std::byte> bytes(count * size);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = golden_number(t, kind, set, i);
    std::memcpy(bytes.data() + i * size, &bits, size);  // little-endian
  }
  return bytes;
}

}  // namespace tern::testing
