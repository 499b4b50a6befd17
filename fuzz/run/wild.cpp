#include "fuzz/run/wild.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "dtypes/convert.h"

namespace tern::fuzz {
namespace {

enum class WildMode { small, ascending, wild };
using WildLimits = std::numeric_limits<double>;
using Limits64 = std::numeric_limits<std::int64_t>;

double number(Choices& c, WildMode mode) {
  if (mode != WildMode::wild) return c.pick({0.0, 1.0, -1.0, 0.5, 2.0, -0.25, 3.0, 0.125, 7.0, -4.0});
  return c.pick({WildLimits::quiet_NaN(), WildLimits::infinity(), -WildLimits::infinity(), WildLimits::max(),
                 WildLimits::lowest(), 3e38, -3e38, 1e-45, WildLimits::denorm_min(), 0.0, -0.0, 1e9, 2147483648.0,
                 9.3e18, 1.8446744073709552e19, 65504.0, 1.0});
}

std::int64_t integer(Choices& c, WildMode mode, DType dtype, std::int64_t* last) {
  if (dtype == DType::boolean) return c.between(0, 1);
  if (mode == WildMode::ascending) return *last += c.between(0, 1);
  if (mode == WildMode::small) return c.pick<std::int64_t>({0, 0, 1, 1, 2, 3, is_signed_integer(dtype) ? -1 : 0});
  const int bits = 8 * element_size(dtype);
  const std::int64_t low = is_signed_integer(dtype) ? Limits64::min() >> (64 - bits) : 0;
  const std::int64_t high = is_signed_integer(dtype) ? Limits64::max() >> (64 - bits) : -1;
  return c.pick<std::int64_t>({low, high, 0, -1, 1, high - 1, low + 1, 2});
}

}  // namespace

void fill(Choices& c, DType dtype, std::span<std::byte> bytes) {
  const WildMode mode =
      c.pick({WildMode::small, WildMode::small, WildMode::small, WildMode::ascending, WildMode::wild});
  const std::size_t size = static_cast<std::size_t>(element_size(dtype));
  std::int64_t last = 0;
  if (is_integral(dtype) || dtype == DType::boolean) {
    for (std::size_t at = 0; at + size <= bytes.size(); at += size) {
      const std::int64_t v = integer(c, mode, dtype, &last);
      std::memcpy(bytes.data() + at, &v, size);
    }
  } else if (dtype == DType::f6_e2m3 || dtype == DType::f6_e3m2) {
    for (std::byte& b : bytes) b = static_cast<std::byte>(c.byte() & 0x3f);
  } else if (size == 1) {
    for (std::byte& b : bytes)
      b = static_cast<std::byte>(mode == WildMode::wild ? c.byte() : c.pick({0, 0x38, 0x3c, 0x7f, 0x80}));
  } else {
    const DType part = dtype == DType::c32    ? DType::f16
                       : dtype == DType::c64  ? DType::f32
                       : dtype == DType::c128 ? DType::f64
                                              : dtype;
    const auto part_size = static_cast<std::size_t>(element_size(part));
    for (std::size_t at = 0; at + part_size <= bytes.size(); at += part_size) {
      const double v = number(c, mode);
      alignas(8) std::byte converted[8];
      convert(&v, DType::f64, converted, part, 1);
      std::memcpy(bytes.data() + at, converted, part_size);
    }
  }
}

}  // namespace tern::fuzz
