// Sums along a row: near those in long double, and the same bits for each instruction set that this processor has.
#include "kernels/cpu/reductions/row_loops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "dtypes/cpu_features.h"

namespace tern::rows {
namespace {

std::vector<RowLoops<float>> all_row_loops() {
  std::vector<RowLoops<float>> all;
  RowLoops<double> unused;
  for_each_level(set_levels, [&](auto set) { set(&all.emplace_back(), &unused); });
  return all;
}

TEST(Rows, SumsByBlocks) {
  std::mt19937 random(1);
  for (const float offset : {0.0F, 3.0F, 1000.0F}) {
    std::normal_distribution<float> element(offset, 1);
    for (const std::int64_t n : {1, 15, 16, 17, 63, 64, 65, 127, 255, 256, 257, 768, 1000, 50000}) {
      std::vector<float> x(static_cast<std::size_t>(n + 1));
      for (float& v : x) v = element(random);
      for (const std::int64_t shift : {0, 1}) {
        const float* at = x.data() + shift;
        long double sum = 0, squares = 0, size = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          const long double d = static_cast<long double>(at[i]) - offset;
          sum += at[i];
          size += std::abs(at[i]);
          squares += d * d;
        }
        double first = 0, first_squares = 0;
        for (const RowLoops<float>& r : all_row_loops()) {
          const double got = r.block_sum(at, n), distances = r.block_distances(at, offset, n);
          EXPECT_NEAR(got, static_cast<double>(sum), static_cast<double>(size) * 6e-8) << n;
          EXPECT_NEAR(distances, static_cast<double>(squares), static_cast<double>(squares) * 3e-7) << n;
          if (first_squares == 0) first = got, first_squares = distances;
          EXPECT_EQ(got, first) << n;
          EXPECT_EQ(distances, first_squares) << n;
        }
      }
    }
  }
}

TEST(Rows, TheLargestWhereverItLies) {
  for (const RowLoops<float>& r : all_row_loops()) {
    for (const std::int64_t n : {1, 15, 16, 63, 64, 80, 130, 200}) {
      for (std::int64_t at = 0; at < n; ++at) {
        std::vector<float> x(static_cast<std::size_t>(n), -2);
        x[static_cast<std::size_t>(at)] = -1;
        ASSERT_EQ(r.max(x.data(), n), -1);
        x[static_cast<std::size_t>(at)] = -3;
        ASSERT_EQ(r.min_or_nan(x.data(), n), -3);
        ASSERT_EQ(r.max_or_nan(x.data(), n), n == 1 ? -3 : -2);
        for (const float nan :
             {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::signaling_NaN()}) {
          x[static_cast<std::size_t>(at)] = nan;
          ASSERT_EQ(r.max(x.data(), n), n == 1 ? -std::numeric_limits<float>::infinity() : -2);
          ASSERT_TRUE(std::isnan(r.max_or_nan(x.data(), n))) << n << " " << at;
          ASSERT_TRUE(std::isnan(r.min_or_nan(x.data(), n))) << n << " " << at;
        }
        x[static_cast<std::size_t>(at)] = -std::numeric_limits<float>::infinity();
        ASSERT_EQ(r.min_or_nan(x.data(), n), -std::numeric_limits<float>::infinity());
      }
    }
  }
}

}  // namespace
}  // namespace tern::rows
