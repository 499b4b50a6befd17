// Products with weights as they lie against sums in double: every size of a last strip and panel, rows that lie apart,
// and each instruction set that this processor has.
#include "kernels/cpu/linear/linear.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "dtypes/cpu_level.h"
#include "kernels/cpu/linear/micro.h"

namespace tern {
namespace {

std::vector<float> random_floats(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> element(-1, 1);
  std::vector<float> v(static_cast<std::size_t>(count));
  for (float& x : v) x = element(random);
  return v;
}

double sum_of(const float* x, const float* w, std::int64_t k, double* size) {
  double sum = 0;
  for (std::int64_t p = 0; p < k; ++p) {
    const double product = static_cast<double>(x[p]) * static_cast<double>(w[p]);
    sum += product;
    *size += std::abs(product);
  }
  return sum;
}

/// Each sum is within what k roundings can make of it.
void expect_sum(double got, const float* x, const float* w, std::int64_t k, double plus, const char* what) {
  double size = std::abs(plus);
  const double sum = sum_of(x, w, k, &size) + plus;
  ASSERT_NEAR(got, sum, size * std::ldexp(static_cast<double>(k + 2), -24)) << what;
}

void multiply(const LinearShape& s, bool with_bias) {
  const std::vector<float> x = random_floats(s.m * s.x_row, 1), w = random_floats(s.n * s.w_row, 2),
                           bias = random_floats(s.n, 3);
  constexpr float kUntouched = 12345;
  std::vector<float> y(static_cast<std::size_t>(s.m * s.n) + 16, kUntouched);
  linear(s, {x.data(), w.data(), with_bias ? bias.data() : nullptr, y.data(), {}});
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < s.n; ++j) {
      const double plus = with_bias ? static_cast<double>(bias[static_cast<std::size_t>(j)]) : 0;
      expect_sum(static_cast<double>(y[static_cast<std::size_t>(i * s.n + j)]), x.data() + i * s.x_row,
                 w.data() + j * s.w_row, s.k, plus, "of a product");
      if (::testing::Test::HasFatalFailure()) {
        FAIL() << s.m << "x" << s.n << "x" << s.k << " at " << i << ", " << j;
      }
    }
  }
  for (std::size_t i = static_cast<std::size_t>(s.m * s.n); i < y.size(); ++i) ASSERT_EQ(y[i], kUntouched);
}

TEST(Linear, EverySizeOfALastPanelAndStrip) {
  for (std::int64_t m = 1; m <= 42; ++m) {
    for (const std::int64_t n : {1, 2, 3, 4, 5, 7, 12, 13, 24, 29}) multiply({m, n, 19, 19, 19}, m % 2 == 0);
  }
}

TEST(Linear, RowsThatLieApart) {
  for (const std::int64_t m : {1, 2, 3, 5, 8, 9, 17, 40}) {
    for (const std::int64_t k : {1, 2, 3, 4, 15, 16, 31, 33, 64, 257}) multiply({m, 30, k, k + 5, k + 3}, true);
  }
}

TEST(Linear, ManyRowsAndLongOnes) {
  multiply({300, 37, 40, 40, 40}, true);       // more than are taken at a time
  multiply({9, 25, 2000, 2000, 2048}, true);   // rows that collide in the cache
  multiply({70, 13, 5000, 5000, 5000}, true);  // several parts of the sums
  multiply({129, 3, 33, 33, 33}, false);       // panels go to threads
}

TEST(Linear, TheSameBitsForAnyNumberOfThreads) {
  const LinearShape s{50, 200, 300, 300, 300};
  const std::vector<float> x = random_floats(s.m * s.k, 1), w = random_floats(s.n * s.k, 2);
  const int before = omp_get_max_threads();
  std::vector<float> first;
  for (const int threads : {1, 2, 3, 5}) {
    omp_set_num_threads(threads);
    std::vector<float> y(static_cast<std::size_t>(s.m * s.n));
    linear(s, {x.data(), w.data(), nullptr, y.data(), {}});
    if (first.empty()) first = y;
    EXPECT_EQ(y, first) << threads << " threads";
  }
  omp_set_num_threads(before);
}

TEST(Linear, InfinitiesStayWhereTheyAre) {
  // Lanes of a panel that hold no row of x are multiplied too.
  const LinearShape s{9, 12, 16, 16, 16};
  std::vector<float> x = random_floats(s.m * s.k, 1), w = random_floats(s.n * s.k, 2);
  w[16 * 5] = std::numeric_limits<float>::infinity();
  std::vector<float> y(static_cast<std::size_t>(s.m * s.n));
  linear(s, {x.data(), w.data(), nullptr, y.data(), {}});
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isinf(y[i]), i % 12 == 5) << i;
}

TEST(Linear, EveryInstructionSet) {
  using namespace linear_micro;
  std::vector<MicroKernels> all(1);
  set_baseline(all.data());
#if TERN_X86_LEVELS
  if (cpu_level() >= CpuLevel::avx2) set_avx2(&all.emplace_back());
  if (cpu_level() >= CpuLevel::avx512) set_avx512(&all.emplace_back());
#endif
  constexpr std::int64_t kDepth = 300;
  const std::vector<float> x = random_floats(kMostWidth * kDepth, 1), w = random_floats(kMostRows * kDepth, 2);
  for (const MicroKernels& kernels : all) {
    for (int kind = 0; kind < 3 && kernels.widths[kind] > 0; ++kind) {
      const int width = kernels.widths[kind];
      std::vector<float> panel(static_cast<std::size_t>(width * kDepth)), tile(kMostRows * kMostWidth);
      for (int rows = 1; rows <= kernels.rows; ++rows) {
        const int count = std::max(1, width - rows % 4);
        kernels.pack(x.data(), kDepth, count, kDepth, width, panel.data());
        kernels.tile[kind][rows - 1](w.data(), kDepth, panel.data(), kDepth, tile.data());
        const std::vector<float> bias(kMostRows, 0.5F);
        std::vector<float> y(static_cast<std::size_t>(count * rows));
        kernels.store(tile.data(), width, rows, count, bias.data(), y.data(), rows);
        kernels.store(tile.data(), width, rows, count, nullptr, y.data(), rows);
        for (int i = 0; i < count; ++i) {
          for (int j = 0; j < rows; ++j)
            expect_sum(static_cast<double>(y[static_cast<std::size_t>(i * rows + j)]) / 2, x.data() + i * kDepth,
                       w.data() + j * kDepth, kDepth, 0.25, "of a tile");
        }
      }
    }
    for (int rows = 1; rows <= kernels.dot_rows; ++rows) {
      float sums[4 * kMostDotRows];
      kernels.four_dots[rows - 1](x.data(), kDepth, w.data(), kDepth, kDepth, sums);
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < 4; ++j)
          expect_sum(static_cast<double>(sums[i * 4 + j]), x.data() + i * kDepth, w.data() + j * kDepth, kDepth, 0,
                     "of dot products");
      }
    }
  }
}

}  // namespace
}  // namespace tern
