// Fusion of lu_factor into its only reader lu_solve: residuals, and cases without fusion.
#include <gtest/gtest.h>
#include <tern/error.h>

#include <algorithm>
#include <complex>
#include <random>

#include "dtypes/convert.h"
#include "exporter/lower/linalg.h"
#include "kernels/cpu/linalg/linalg.h"
#include "runtime/prepared.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::TestProgram;
using Number = std::complex<double>;
using Entries = std::vector<Number>;

Entries some_numbers(std::int64_t n, std::uint32_t seed, bool complex) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<int> quarters(-8, 8);  // exact in every type
  Entries v(static_cast<std::size_t>(n));
  for (Number& x : v) x = {quarters(engine) / 4.0, complex ? quarters(engine) / 4.0 : 0};
  return v;
}
/// Heavy where row = column + 1, so that pivoting exchanges rows.
Entries matrices(std::int64_t count, std::int64_t n, std::uint32_t seed, bool complex) {
  Entries v = some_numbers(count * n * n, seed, complex);
  for (std::int64_t i = 0; i < count * n; ++i) {
    const std::int64_t c = i % n, r = (c + 1) % n;
    v[static_cast<std::size_t>((i / n * n + r) * n + c)] += 3.0 * static_cast<double>(n);
  }
  return v;
}
Tensor tensor(DType type, std::vector<std::int64_t> sizes, const Entries& v) {
  Tensor t(type, std::move(sizes));
  convert(v.data(), DType::c128, t.data(), type, t.numel());
  return t;
}

struct SystemSizes {
  std::int64_t count, n, columns;
  bool shared = false;  ///< a single right hand side for all
  bool transposed = false;
};
TestProgram program(DType type, const SystemSizes& s, bool gives_pivots = false) {
  TestProgram p;
  const ValueId a = p.input(type, {s.count, s.n, s.n}), b = p.input(type, {s.shared ? 1 : s.count, s.n, s.columns});
  const std::vector<ValueId> f = lu_factor(p.b(), a, true);
  p.output(lu_solve(p.b(), f[0], f[1], b, true, s.transposed ? TransposeKind::transpose : TransposeKind::none));
  if (gives_pivots) p.output(f[1]);
  return p;
}
PreparedModel prepare(const TestProgram& p) {
  return PreparedModel(prepare_program(p.model().program(), {}, {.fusion = Fusion::enabled}));
}
std::int64_t factorizations(const TestProgram& p) {
  const PreparedModel prepared = prepare(p);
  return std::ranges::count(prepared.impl()->functions[0].nodes, Op::lu_factor, &Node::op);
}

class SolveFusionTest : public ::testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (!cpu::solves_unfactored(cpu_kernels().kernels[static_cast<std::size_t>(Op::lu_solve)])) GTEST_SKIP();
  }
  static void expect_solution(DType type, const SystemSizes& s) {
    const TestProgram p = program(type, s);
    ASSERT_EQ(factorizations(p), is_complex(type) ? 1 : 0);
    const bool complex = is_complex(type);
    const Entries a = matrices(s.count, s.n, 1, complex);
    const std::int64_t right_sides = s.shared ? 1 : s.count;
    const Entries b = some_numbers(right_sides * s.n * s.columns, 2, complex);
    Session session(prepare(p));
    const Tensor& found =
        session.run({tensor(type, {s.count, s.n, s.n}, a), tensor(type, {right_sides, s.n, s.columns}, b)})[0];
    Entries x(static_cast<std::size_t>(found.numel()));
    convert(found.data(), type, x.data(), DType::c128, found.numel());
    const auto at = [](const Entries& v, std::int64_t i) { return v[static_cast<std::size_t>(i)]; };
    const double limit = (element_size(type) == (complex ? 16 : 8) ? 1e-14 : 4e-6) * static_cast<double>(s.n + 2);
    for (std::int64_t i = 0; i < s.count * s.n * s.columns; ++i) {
      const std::int64_t m = i / (s.n * s.columns), r = i / s.columns % s.n, c = i % s.columns;
      Number sum = -at(b, s.shared ? i % (s.n * s.columns) : i);
      for (std::int64_t k = 0; k < s.n; ++k)
        sum += at(a, m * s.n * s.n + (s.transposed ? k * s.n + r : r * s.n + k)) * at(x, (m * s.n + k) * s.columns + c);
      ASSERT_LT(std::abs(sum), limit) << "matrix " << m << " of order " << s.n << ", " << s.columns << " columns";
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Types, SolveFusionTest, ::testing::Values(DType::f32, DType::f64, DType::c64, DType::c128));

TEST_P(SolveFusionTest, SolvesRealSystemsInOneNode) {
  for (const std::int64_t n : {1, 2, 3, 4, 5, 9, 33, 40}) {
    for (const std::int64_t count : {1, 2, 16, 19}) {
      expect_solution(GetParam(), {count, n, 1});
      expect_solution(GetParam(), {count, n, n, true});
      expect_solution(GetParam(), {count, n, 45, false, true});
    }
  }
}

TEST_P(SolveFusionTest, LeavesAFactorizationThatOthersRead) {
  EXPECT_EQ(factorizations(program(GetParam(), {6, 3, 2}, true)), 1);
  TestProgram p;  // factors of a single matrix for many right hand sides
  const ValueId a = p.input(GetParam(), {1, 3, 3}), b = p.input(GetParam(), {6, 3, 2});
  const std::vector<ValueId> f = lu_factor(p.b(), a, true);
  p.output(lu_solve(p.b(), f[0], f[1], b, true, TransposeKind::none));
  EXPECT_EQ(factorizations(p), 1);
}

/// The factors are the right hand sides, too: two nodes; the second reads the result of the first.
TEST_P(SolveFusionTest, LeavesFactorsThatAreRightHandSides) {
  constexpr std::int64_t kCount = 16, kSide = 3;
  TestProgram p;
  const ValueId a = p.input(GetParam(), {kCount, kSide, kSide});
  const std::vector<ValueId> f = lu_factor(p.b(), a, true);
  p.output(lu_solve(p.b(), f[0], f[1], f[0], true, TransposeKind::none));
  ASSERT_EQ(factorizations(p), 1);
  Entries diagonal(kCount * kSide * kSide);
  for (std::size_t i = 0; i < kCount; ++i) {
    for (std::size_t r = 0; r < kSide; ++r) diagonal[(i * kSide + r) * kSide + r] = 2;
  }
  Session session(prepare(p));
  const Tensor& found = session.run({tensor(GetParam(), {kCount, kSide, kSide}, diagonal)})[0];
  Entries solution(diagonal.size());
  convert(found.data(), GetParam(), solution.data(), DType::c128, found.numel());
  for (std::size_t i = 0; i < solution.size(); ++i) ASSERT_EQ(solution[i], diagonal[i] / 2.0) << i;
}

/// Error message of the program; `defined` runs the definitions' kernels.
std::string error_of(const TestProgram& p, bool defined, const std::vector<Tensor>& inputs) {
  PrepareOptions options;
  options.reproducible = defined;
  Session session(PreparedModel(prepare_program(p.model().program(), options, {.fusion = Fusion::enabled})));
  try {
    session.run(inputs);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

/// A 5 x 5 matrix with equal first and last rows; Laplacians of trees, the hub last; identities with two equal rows;
/// all threes.
TEST_P(SolveFusionTest, RefusesSingularIntegers) {
  const auto refuses = [&](std::int64_t n, const Entries& bad) {
    Entries a = matrices(20, n, 1, false);
    std::ranges::copy(bad, a.begin() + 13 * n * n);
    const std::vector<Tensor> inputs = {tensor(GetParam(), {20, n, n}, a),
                                        tensor(GetParam(), {20, n, 1}, some_numbers(20 * n, 2, false))};
    const TestProgram p = program(GetParam(), {20, n, 1});
    for (const bool defined : {false, true}) {
      const std::string found = error_of(p, defined, inputs);
      EXPECT_NE(found.find("matrix 13 of the batch"), std::string::npos) << n << " rows, defined " << defined << found;
    }
  };
  refuses(5, {2, 1, 0, 3, 1, 1, 4, 1, 0, 2, 0, 1, 5, 1, 3, 1, 0, 2, 6, 1, 2, 1, 0, 3, 1});
  refuses(2, {3, 3, 1, 1});
  refuses(2, {49, 49, 49, 49});
  for (const std::int64_t n : {2, 3, 4, 5, 8, 9, 12, 13, 17}) {
    const auto side = static_cast<std::size_t>(n);
    Entries star(side * side), units(side * side);
    for (std::size_t i = 0; i + 1 < side; ++i) {
      star[i * side + i] = units[i * side + i] = 1;
      star[i * side + side - 1] = star[(side - 1) * side + i] = -1;
    }
    star[side * side - 1] = static_cast<double>(n - 1);
    units[side - 1] = 1;
    refuses(n, star);
    refuses(n, units);
  }
}

TEST_P(SolveFusionTest, SaysWhichMatrixIsSingular) {
  for (const std::int64_t n : {2, 7, 40}) {
    Entries a = matrices(20, n, 1, false);
    for (std::int64_t r = 0; r < n; ++r) a[static_cast<std::size_t>((13 * n + r) * n + 1)] = 0;
    Session session(prepare(program(GetParam(), {20, n, 1})));
    try {
      session.run({tensor(GetParam(), {20, n, n}, a), tensor(GetParam(), {20, n, 1}, some_numbers(20 * n, 2, false))});
      FAIL() << "no error";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("matrix 13 of the batch is singular"), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace tern
