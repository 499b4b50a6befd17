// Positions along axes from element indices, computed in kernel source without divisions.
#include "kernels/portable/axes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace tern::portable {
namespace {

TEST(Axes, InverseDividesExactly) {
  constexpr std::int64_t kEnd = std::int64_t{1} << 31;
  std::vector<std::int64_t> sizes;
  for (std::int64_t d = 1; d < 3000; ++d) sizes.push_back(d);
  for (std::int64_t power = 4096; power <= kEnd; power *= 2) {
    for (std::int64_t d : {power - 1, power, power + 1, power / 3, power / 7 * 5}) sizes.push_back(std::min(d, kEnd));
  }
  for (const std::int64_t d : sizes) {
    const auto inverse = static_cast<std::uint64_t>(inverse_of(d));
    const auto check = [&](std::int64_t n) {
      if (n < 0 || n >= kEnd) return;
      const std::uint64_t quotient = static_cast<std::uint64_t>(n) * (inverse & 0xffffffffu) >> (inverse >> 32);
      ASSERT_EQ(quotient, static_cast<std::uint64_t>(n / d)) << n << " / " << d;
    };
    const std::int64_t last = (kEnd - 1) / d;
    for (const std::int64_t q : {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, last / 3, last - 1, last}) {
      for (const std::int64_t n : {q * d - 1, q * d, q * d + 1, q * d + d / 2}) check(n);
    }
    check(kEnd - 1);
  }
}

}  // namespace
}  // namespace tern::portable
