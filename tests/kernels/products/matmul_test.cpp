// Products against plain loops in double. Operands are small integers, so that every type must be exact.
#include <gtest/gtest.h>

#include "tests/kernels/node_run.h"

namespace tern::test {
namespace {

using MatmulShape = std::vector<std::int64_t>;

struct MatmulCase {
  MatmulShape a, b;
  bool transpose_a = false, transpose_b = false, constant = false;
};

/// Strides of a tensor whose last two axes are transposed in memory.
MatmulShape transposed_strides(const MatmulShape& s) {
  MatmulShape t(s.size(), 1);
  const std::size_t n = s.size();
  t[n - 2] = 1;
  t[n - 1] = s[n - 2];
  std::int64_t plane = s[n - 2] * s[n - 1];
  for (std::size_t i = n - 2; i-- > 0;) {
    t[i] = plane;
    plane *= s[i];
  }
  return t;
}

std::vector<Number> reference(const MatmulCase& c, const std::vector<Number>& a, const std::vector<Number>& b,
                              const MatmulShape& out) {
  const std::size_t r = out.size();
  const std::int64_t m = out[r - 2], n = out[r - 1], k = c.a.back();
  std::vector<Number> result;
  for (std::int64_t p = 0; p < product(out) / std::max<std::int64_t>(1, m * n); ++p) {
    const auto plane = [&](const MatmulShape& s) {
      std::int64_t rest = p, at = 0, step = 1;
      for (std::size_t i = 2; i < r; ++i) {
        const std::int64_t size = out[r - 1 - i];
        if (i < s.size()) {
          const std::int64_t own = s[s.size() - 1 - i];
          at += (own == 1 ? 0 : rest % size) * step;
          step *= own;
        }
        rest /= size;
      }
      return at;
    };
    const std::int64_t pa = plane(c.a) * m * k, pb = plane(c.b) * k * n;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        Number sum = 0;
        for (std::int64_t q = 0; q < k; ++q)
          sum += a[static_cast<std::size_t>(pa + i * k + q)] * b[static_cast<std::size_t>(pb + q * n + j)];
        result.push_back(sum);
      }
    }
  }
  return result;
}

std::vector<Number> numbers(DType t, std::int64_t n, std::uint32_t seed) {
  const std::vector<double> re = random_numbers(n, seed), im = random_numbers(n, seed + 100);
  std::vector<Number> v;
  for (std::size_t i = 0; i < re.size(); ++i)
    v.emplace_back(t == DType::u8 ? std::abs(re[i]) : re[i], is_complex(t) ? im[i] : 0.0);
  return v;
}

void check(DType t, const MatmulCase& c, bool with_bias) {
  NodeRun run(Op::matmul);
  const auto a = numbers(t, product(c.a), 1), b = numbers(t, product(c.b), 2);
  run.input(t, c.a, a, c.transpose_a ? transposed_strides(c.a) : MatmulShape{});
  run.input(t, c.b, b, c.transpose_b ? transposed_strides(c.b) : MatmulShape{}, c.constant);
  const auto bias = numbers(t, c.b.back(), 3);
  if (with_bias) run.input(t, {c.b.back()}, bias);
  run.run();
  auto expected = reference(c, a, b, run.shape());
  for (std::size_t i = 0; with_bias && i < expected.size(); ++i) expected[i] += bias[i % bias.size()];
  const auto got = run.output();
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], expected[i]) << name_of(t) << " element " << i;
}

TEST(Matmul, IsExactOnSmallIntegersInEveryTypeAndLayout) {
  const MatmulCase cases[] = {
      {{3, 5}, {5, 4}},
      {{3, 5}, {5, 4}, true, true},
      {{3, 5}, {5, 4}, false, true, true},
      {{1, 5}, {5, 1}, true, true, true},
      {{2, 3, 5}, {5, 4}, false, false, true},
      {{2, 3, 5}, {5, 4}, true, false, true},
      {{2, 3, 5}, {2, 5, 4}},
      {{2, 3, 5}, {2, 5, 4}, true, true},
      {{4, 1, 3, 5}, {2, 5, 4}, false, true},
      {{1, 2, 3, 5}, {6, 1, 5, 4}},
      {{6, 1, 5}, {5, 4}},
      {{70, 33}, {33, 65}, false, true, true},
      {{0, 5}, {5, 4}},
      {{3, 0}, {0, 4}},
      {{3, 0}, {0, 4}, false, false, true},
  };
  const DType types[] = {DType::f32,  DType::f64, DType::f16, DType::bf16, DType::c64,
                         DType::c128, DType::i64, DType::i32, DType::u8,   DType::f8_e4m3fn};
  for (DType t : types) {
    for (const MatmulCase& c : cases) {
      if ((t == DType::bf16 || t == DType::f8_e4m3fn || t == DType::u8) && c.a.back() > 8)
        continue;  // sums beyond their exact range
      if (t == DType::f8_e4m3fn && c.a.back() > 1) continue;
      check(t, c, false);
      if (t != DType::f8_e4m3fn) check(t, c, true);
    }
  }
}

TEST(Matmul, IntegersKeepTheLowBits) {
  NodeRun run(Op::matmul);
  run.input<double>(DType::i8, {1, 3}, {100, 100, 100});
  run.input<double>(DType::i8, {3, 1}, {100, 100, 100});
  EXPECT_EQ(run.run().output()[0], Number(static_cast<std::int8_t>(30000)));
}

TEST(Matmul, GivesTheWiderTypeAskedFor) {
  NodeRun run(Op::matmul);
  run.input<double>(DType::i8, {1, 3}, {100, 100, 100});
  run.input<double>(DType::i8, {3, 1}, {100, 100, 100});
  run.set(AttrKey::dtype, static_cast<std::int64_t>(DType::i32));
  EXPECT_EQ(run.run().output()[0], Number(30000));
}

TEST(Matmul, ReadsFlippedAndRepeatedOperands) {
  NodeRun run(Op::matmul);
  run.input<double>(DType::f32, {2, 3}, {1, 2, 3, 1, 2, 3}, {0, 1});
  run.input<double>(DType::f32, {3, 2}, {1, 4, 2, 5, 3, 6}, {1, 3});
  const auto got = run.run().output();
  EXPECT_EQ(got, (std::vector<Number>{14, 32, 14, 32}));
}

// The projection of a batch-first attention: the rows of planes alternate in memory.
TEST(Matmul, JoinsRowsOfPlanesThatLieBetweenEachOther) {
  for (const std::int64_t columns : {31, 32, 40}) {
    const MatmulCase c{{2, 5, 8, 24}, {24, columns}};
    const auto a = numbers(DType::f32, product(c.a), 1), b = numbers(DType::f32, product(c.b), 2);
    NodeRun run(Op::matmul);
    run.input(DType::f32, c.a, a, {24, 2 * 24, 2 * 5 * 24, 1});
    run.input(DType::f32, c.b, b);
    run.run();
    EXPECT_EQ(run.output(), reference(c, a, b, {2, 5, 8, columns})) << columns;
  }
}

TEST(GroupedMatmul, MultipliesEachRunOfRowsByItsGroup) {
  for (DType t : {DType::f32, DType::bf16}) {
    NodeRun run(Op::grouped_matmul);
    run.input<double>(t, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
    run.input<double>(t, {3, 2, 2}, {1, 0, 0, 1, 9, 9, 9, 9, 0, 1, 1, 0}, {4, 1, 2});
    run.input<double>(DType::i32, {3}, {1, 1, 3});
    // Group 0 takes row 0, group 1 none, group 2 rows 1 and 2; row 3 has no group.
    EXPECT_EQ(run.run().output(), (std::vector<Number>{1, 2, 4, 3, 6, 5, 0, 0}));
  }
}

TEST(GroupedMatmul, IsExactOnSmallIntegersForManyRows) {
  constexpr std::int64_t kRows = 90, kDepth = 70, kColumns = 45;
  const std::vector<std::int64_t> ends = {40, 43, 43, 85};
  for (DType t : {DType::f32, DType::bf16}) {
    for (const bool by_columns : {false, true}) {
      const int range = t == DType::bf16 ? 1 : 3;  // sums stay exact
      const std::vector<double> x = random_numbers(kRows * kDepth, 1, range),
                                w = random_numbers(4 * kDepth * kColumns, 2, range);
      NodeRun run(Op::grouped_matmul);
      run.input(t, {kRows, kDepth}, x);
      run.input(t, {4, kDepth, kColumns}, w, by_columns ? MatmulShape{kDepth * kColumns, 1, kDepth} : MatmulShape{});
      run.input<double>(DType::i32, {4}, {ends.begin(), ends.end()});
      const std::vector<Number> got = run.run().output();
      for (std::int64_t i = 0; i < kRows; ++i) {
        const auto group = std::ranges::upper_bound(ends, i) - ends.begin();
        for (std::int64_t j = 0; j < kColumns; ++j) {
          double sum = 0;
          for (std::int64_t q = 0; group < 4 && q < kDepth; ++q)
            sum += x[static_cast<std::size_t>(i * kDepth + q)] *
                   w[static_cast<std::size_t>((group * kDepth + q) * kColumns + j)];
          ASSERT_EQ(got[static_cast<std::size_t>(i * kColumns + j)], Number(sum)) << name_of(t) << ' ' << i << ' ' << j;
        }
      }
    }
  }
}

TEST(GroupedMatmul, RefusesOffsetsOutOfOrder) {
  NodeRun run(Op::grouped_matmul);
  run.input<double>(DType::f32, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  run.input<double>(DType::f32, {2, 2, 2}, {1, 0, 0, 1, 9, 9, 9, 9});
  run.input<double>(DType::i64, {2}, {3, 2});
  EXPECT_THROW(run.run(), Error);
}

}  // namespace
}  // namespace tern::test
