// Formats within a number of bits, against all combinations.
#include "tools/quantize/budget.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include <random>

#include "tests/tools/support.h"

namespace tern {
namespace {

using BudgetWeights = std::vector<std::vector<Rung>>;

BudgetWeights weights_of_budget(unsigned seed) {
  std::mt19937 random(seed);
  const auto number = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  BudgetWeights weights;
  for (int w = 0; w < 6; ++w) {
    const auto size = static_cast<std::uint64_t>(number(1, 4));
    const double noise = number(1, 1000);
    weights.push_back({{33 * size, noise},
                       {34 * size, noise * 0.9},
                       {36 * size, noise * 0.7},
                       {64 * size, noise * 0.01},
                       {256 * size, 0}});
  }
  return weights;
}

TEST(Budget, IsKeptAndNearlyTheBestUse) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const BudgetWeights weights = weights_of_budget(seed);
    std::uint64_t least = 0;
    for (const std::vector<Rung>& w : weights) least += w.front().bytes;
    for (const double share : {1.0, 1.05, 1.3, 2.0, 5.0}) {
      const auto limit = static_cast<std::uint64_t>(static_cast<double>(least) * share);
      const std::vector<std::size_t> rungs = rungs_within(weights, limit);
      std::uint64_t bytes = 0, largest = 0;
      double noise = 0;
      for (std::size_t w = 0; w < weights.size(); ++w) {
        bytes += weights[w][rungs[w]].bytes;
        noise += weights[w][rungs[w]].noise;
      }
      EXPECT_LE(bytes, limit);
      // A fractional raise bounds the least noise from below: no combination within less than the limit minus the
      // largest raise is better.
      for (const std::vector<Rung>& w : weights) largest = std::max(largest, w.back().bytes - w.front().bytes);
      double best = 1e300;
      for (int code = 0; code < 5 * 5 * 5 * 5 * 5 * 5; ++code) {
        std::uint64_t used = 0;
        double sum = 0;
        for (int w = 0, rest = code; w < 6; ++w, rest /= 5) {
          const Rung& r = weights[static_cast<std::size_t>(w)][static_cast<std::size_t>(rest % 5)];
          used += r.bytes;
          sum += r.noise;
        }
        if (used + largest <= limit) best = std::min(best, sum);
      }
      EXPECT_LE(noise, best);
    }
  }
}

TEST(Budget, BelowTheSmallestFormatsIsRefused) {
  EXPECT_NE(test::error_of(
                [] {
                  rungs_within({{{100, 1.0}, {200, 0.0}}}, 99);
                },
                ErrorCode::invalid_argument)
                .find("100 bytes, more than 99"),
            std::string::npos);
}

}  // namespace
}  // namespace tern
