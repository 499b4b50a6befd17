// Products with sums of thousands of elements, as in weight gradients, against sums in double: exact on small integers;
// with overlapping operands, as in windows; and with infinities.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/kernels/node_run.h"
#include "threads/threads.h"

namespace tern::test {
namespace {

struct LongSumsCase {
  std::int64_t planes, m, n, k;
  bool shared = false;  ///< all planes have the same first matrix
};

/// Each column of the second matrix [planes, k, n] is contiguous.
void check(const LongSumsCase& c, std::int64_t infinite_at = -1) {
  const auto a = random_numbers(c.shared ? c.m * c.k : c.planes * c.m * c.k, 1);
  auto b = random_numbers(c.planes * c.k * c.n, 2);
  if (infinite_at >= 0) b[static_cast<std::size_t>(infinite_at)] = std::numeric_limits<double>::infinity();
  NodeRun run(Op::matmul);
  run.input(DType::f32, {c.shared ? 1 : c.planes, c.m, c.k}, a);
  run.input(DType::f32, {c.planes, c.k, c.n}, b, {c.k * c.n, 1, c.k});
  run.no_input();
  run.run();
  const auto got = run.output();
  ASSERT_EQ(static_cast<std::int64_t>(got.size()), c.planes * c.m * c.n);
  std::vector<double> expected(got.size(), 0.0);
  for (std::int64_t p = 0; p < c.planes; ++p) {
    for (std::int64_t i = 0; i < c.m; ++i) {
      for (std::int64_t q = 0; q < c.k; ++q) {
        const double left = a[static_cast<std::size_t>(((c.shared ? 0 : p) * c.m + i) * c.k + q)];
        const double* right = b.data() + (p * c.k + q) * c.n;
        double* sums = expected.data() + (p * c.m + i) * c.n;
        for (std::int64_t j = 0; j < c.n; ++j) sums[j] += left * right[j];
      }
    }
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i])) {
      ASSERT_TRUE(std::isnan(got[i].real())) << i;
    } else {
      ASSERT_EQ(got[i].real(), expected[i]) << i;
    }
  }
}

TEST(LongSums, AreExactOnSmallIntegers) {
  const LongSumsCase cases[] = {{1, 64, 147, 5003},       {1, 70, 129, 4096}, {4, 64, 128, 4100, true},
                                {3, 130, 65, 4200, true}, {2, 66, 200, 4097}, {1, 64, 64, 5000},
                                {1, 300, 250, 4096},      {2, 3, 200, 6000}};
  for (const int threads : {1, 2}) {
    const ThreadScope scope((Threads(threads)));
    for (const LongSumsCase& c : cases) {
      SCOPED_TRACE(testing::Message() << c.planes << " of " << c.m << " x " << c.n << ", sums of " << c.k << ", "
                                      << threads << " threads");
      check(c);
    }
  }
}

TEST(LongSums, KeepInfinities) {
  check({2, 64, 128, 4500}, 70000);
}

}  // namespace
}  // namespace tern::test
