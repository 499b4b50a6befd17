#include "fuzz/run/tame.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <vector>

#include "dtypes/convert.h"

namespace tern::fuzz {
namespace {

using TameLimits = std::numeric_limits<double>;

enum class Integers { bits, few, ascending, extremes };
enum class Reals { uneven, unit, ascending, definite, special, few };

double unit(Choices& c) {
  return std::ldexp(static_cast<double>(c.word() >> 11), -53);
}

/// Numbers of very different magnitudes: every order of summation changes bits.
double uneven(Choices& c) {
  const auto normal = [&] {
    return std::sqrt(-2 * std::log(unit(c) + TameLimits::min())) * std::cos(2 * std::numbers::pi * unit(c));
  };
  return normal() * std::exp(normal());
}

double real(Choices& c, Reals mode, double* last) {
  switch (mode) {
    case Reals::unit: return unit(c);
    case Reals::ascending: return *last += unit(c);
    case Reals::few: return c.pick({0.0, 1.0, -1.0, 0.5, 2.0, 3.0});
    case Reals::special:
      return c.chance(15) ? c.pick({TameLimits::quiet_NaN(), TameLimits::infinity(), -TameLimits::infinity(), -0.0, 0.0,
                                    1e12, -60000.0, 1e-40, TameLimits::denorm_min()})
                          : uneven(c);
    case Reals::uneven:
    case Reals::definite: return uneven(c);
  }
  return 0;
}

std::int64_t integer(Choices& c, Integers mode, DType dtype, std::int64_t* last) {
  using Limits64 = std::numeric_limits<std::int64_t>;
  if (dtype == DType::boolean) return c.between(0, 1);
  const int bits = 8 * element_size(dtype);
  const std::int64_t low = is_signed_integer(dtype) ? Limits64::min() >> (64 - bits) : 0;
  switch (mode) {
    case Integers::bits: return c.between(0, 1);
    case Integers::few: return c.between(0, 2);
    case Integers::ascending: return *last += c.between(0, 1);
    case Integers::extremes: return c.pick<std::int64_t>({low, low + 1, ~low, 0, -1, 1, 2, 77, c.between(low, ~low)});
  }
  return 0;
}

/// Adds the (conjugate) transpose, and more than a row's sum to the diagonal.
void make_definite(std::vector<double>& v, std::int64_t n, int parts) {
  const auto at = [&](std::int64_t matrix, std::int64_t i, std::int64_t j, int part) -> double& {
    return v[static_cast<std::size_t>(((matrix * n + i) * n + j) * parts + part)];
  };
  const std::int64_t count = static_cast<std::int64_t>(v.size()) / parts / (n * n);
  for (std::int64_t m = 0; m < count; ++m) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < i; ++j) {
        for (int part = 0; part < parts; ++part) at(m, j, i, part) = part == 0 ? at(m, i, j, 0) : -at(m, i, j, 1);
      }
    }
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = 1;
      for (std::int64_t j = 0; j < n; ++j)
        sum += std::fabs(at(m, i, j, 0)) + (parts > 1 ? std::fabs(at(m, i, j, 1)) : 0);
      at(m, i, i, 0) = sum;
      if (parts > 1) at(m, i, i, 1) = 0;
    }
  }
}

DType part_of(DType dtype) {
  switch (dtype) {
    case DType::c32: return DType::f16;
    case DType::c64: return DType::f32;
    case DType::c128: return DType::f64;
    default: return dtype;
  }
}

void fill_reals(Choices& c, DType dtype, std::span<const std::int64_t> sizes, std::span<std::byte> bytes,
                SpecialData special) {
  const bool square = sizes.size() >= 2 && sizes.back() == sizes[sizes.size() - 2];
  Reals mode = c.pick({Reals::uneven, Reals::uneven, Reals::uneven, Reals::uneven, Reals::unit, Reals::ascending,
                       Reals::few, Reals::special});
  if (special == SpecialData::no && (mode == Reals::special || mode == Reals::few)) mode = Reals::uneven;
  if (square && c.chance(50)) mode = Reals::definite;
  const DType part = part_of(dtype);
  const std::size_t size = static_cast<std::size_t>(element_size(part));
  std::vector<double> v(bytes.size() / size);
  double last = 0;
  for (double& x : v) x = real(c, mode, &last);
  if (mode == Reals::definite && !v.empty()) make_definite(v, sizes.back(), is_complex(dtype) ? 2 : 1);
  convert(v.data(), DType::f64, bytes.data(), part, static_cast<std::int64_t>(v.size()));
}

}  // namespace

void fill_tame(Choices& c, DType dtype, std::span<const std::int64_t> sizes, std::span<std::byte> bytes,
               SpecialData special) {
  if (dtype == DType::f4_e2m1) {
    for (std::byte& b : bytes) b = static_cast<std::byte>(c.byte());
  } else if (is_floating(dtype) || is_complex(dtype)) {
    fill_reals(c, dtype, sizes, bytes, special);
  } else {
    const Integers mode = c.pick({Integers::bits, Integers::bits, Integers::bits, Integers::few, Integers::few,
                                  Integers::ascending, Integers::extremes});
    const std::size_t size = static_cast<std::size_t>(element_size(dtype));
    std::int64_t last = 0;
    for (std::size_t at = 0; at + size <= bytes.size(); at += size) {
      const std::int64_t v = integer(c, mode, dtype, &last);
      std::memcpy(bytes.data() + at, &v, size);
    }
  }
}

}  // namespace tern::fuzz
