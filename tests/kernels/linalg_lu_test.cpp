// LU of a single matrix: loops for every instruction set, and lu_factor of shapes that end inside panels and blocks.
// Compares the product of the factors with vectors, in extended precision.
#include <cmath>
#include <limits>

#include "kernels/cpu/linalg/lu/loops.h"
#include "tests/kernels/matrix.h"

namespace tern::test {
namespace {

using cpu::lu::kPanel;
constexpr std::ptrdiff_t kApart = 80;

template <class T>
std::vector<cpu::lu::LuLoops<T>> all_lu_loops() {
  std::vector<cpu::lu::LuLoops<T>> all;
  for_each_level(cpu::lu::set_levels, [&](auto set) {
    cpu::lu::BothLoops both;
    set(&both);
    if constexpr (std::is_same_v<T, float>) {
      all.push_back(both.f32);
    } else {
      all.push_back(both.f64);
    }
  });
  return all;
}

/// Columns of kApart elements.
template <class T>
struct Panel {
  alignas(64) T at[kPanel * kApart] = {};
  std::int32_t pivots[kPanel] = {};

  T& operator()(std::int64_t r, std::int64_t c) { return at[c * kApart + r]; }
  void fill(int rows, int columns, std::uint32_t seed) {
    const auto numbers = random_numbers(static_cast<std::int64_t>(rows) * columns, seed, 2, 1000);
    for (int i = 0; i < rows * columns; ++i)
      (*this)(i / columns, i % columns) = static_cast<T>(numbers[static_cast<std::size_t>(i)]);
  }
};

template <class T>
class LuLoopsTest : public ::testing::Test {};
using RealTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LuLoopsTest, RealTypes);

TYPED_TEST(LuLoopsTest, PanelsAreProductsOfTheirFactors) {
  using T = TypeParam;
  for (const auto& loops : all_lu_loops<T>()) {
    for (const int rows : {1, 2, 15, 16, 17, 33, 64}) {
      for (const int columns : {1, 5, 16}) {
        auto given = std::make_unique<Panel<T>>(), p = std::make_unique<Panel<T>>();
        given->fill(rows, columns, static_cast<std::uint32_t>(rows * 20 + columns));
        *p = *given;
        const int steps = std::min(rows, columns);
        if (steps < columns) continue;  // panels have as many rows as columns, at least
        EXPECT_EQ(loops.panel(p->at, kApart, rows, columns, p->pivots), 0);
        for (int j = 0; j < steps; ++j) {
          ASSERT_GE(p->pivots[j], j);
          ASSERT_LT(p->pivots[j], rows);
          for (int c = 0; c < columns; ++c) std::swap((*given)(j, c), (*given)(p->pivots[j], c));
        }
        for (int r = 0; r < rows; ++r) {
          for (int c = 0; c < columns; ++c) {
            long double sum = r <= c ? (*p)(r, c) : 0;
            for (int k = 0; k < std::min(r, c + 1); ++k) sum += static_cast<long double>((*p)(r, k)) * (*p)(k, c);
            EXPECT_NEAR(static_cast<double>(sum), static_cast<double>((*given)(r, c)),
                        200 * std::numeric_limits<T>::epsilon());
            EXPECT_LE(r > c ? std::abs((*p)(r, c)) : T(0), 1);
          }
        }
      }
    }
  }
}

TYPED_TEST(LuLoopsTest, WhatFollowsAPanel) {
  using T = TypeParam;
  constexpr int rows = 48, columns = 32, row = 48;
  struct Block {
    alignas(64) T at[(kPanel + rows) * row];
  };
  for (const auto& loops : all_lu_loops<T>()) {
    auto p = std::make_unique<Panel<T>>();
    p->fill(kPanel + rows, kPanel, 6);
    for (T& x : p->at) x /= 8;
    const auto block = std::make_unique<Block>();
    const auto numbers = random_numbers((kPanel + rows) * row, 7, 2, 1000);
    for (std::size_t i = 0; i < numbers.size(); ++i) block->at[i] = static_cast<T>(numbers[i]);
    const Block given = *block;
    loops.solve(p->at, kApart, block->at, row, columns);
    loops.subtract(p->at + kPanel, kApart, block->at, block->at + kPanel * row, row, rows, columns);
    for (int r = 0; r < kPanel + rows; ++r) {
      for (int c = 0; c < row; ++c) {
        long double sum = block->at[r * row + c];
        for (int k = 0; k < std::min(r, kPanel) && c < columns; ++k)
          sum += static_cast<long double>((*p)(r, k)) * block->at[k * row + c];
        EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(given.at[r * row + c]),
                    100 * std::numeric_limits<T>::epsilon());
      }
    }
    *block = given;
    loops.exchange(block->at, block->at + row, columns);
    for (int c = 0; c < row; ++c) EXPECT_EQ(block->at[c], given.at[c < columns ? row + c : c]);
  }
}

TYPED_TEST(LuLoopsTest, PivotsAreTheFirstOfTheLargest) {
  using T = TypeParam;
  for (const auto& loops : all_lu_loops<T>()) {
    for (int first = 0; first < 50; ++first) {
      auto p = std::make_unique<Panel<T>>();
      for (int r = 0; r < 50; ++r) (*p)(r, 0) = r < first ? T(1) : (r - first) % 3 == 0 ? T(-2) : T(2);
      loops.panel(p->at, kApart, 50, 1, p->pivots);
      EXPECT_EQ(p->pivots[0], first);
    }
  }
}

TYPED_TEST(LuLoopsTest, ReportsTheFirstPivotThatIsZero) {
  using T = TypeParam;
  for (const auto& loops : all_lu_loops<T>()) {
    auto p = std::make_unique<Panel<T>>();
    p->fill(40, 16, 3);
    for (int r = 0; r < 40; ++r) (*p)(r, 6) = (*p)(r, 9) = 0;
    EXPECT_EQ(loops.panel(p->at, kApart, 40, 16, p->pivots), 7);
    for (int r = 0; r < 40; ++r) EXPECT_TRUE(std::isfinite((*p)(r, 15)));
  }
}

TYPED_TEST(LuLoopsTest, EqualRowsLeaveZeros) {
  using T = TypeParam;
  for (const auto& loops : all_lu_loops<T>()) {
    auto p = std::make_unique<Panel<T>>();
    p->fill(16, 16, 4);
    for (int c = 0; c < 16; ++c) (*p)(11, c) = (*p)(3, c);
    EXPECT_EQ(loops.panel(p->at, kApart, 16, 16, p->pivots), 16);
  }
}

TYPED_TEST(LuLoopsTest, InversesOfTheLeastPivotsDoNotOverflow) {
  using T = TypeParam;
  for (const auto& loops : all_lu_loops<T>()) {
    auto p = std::make_unique<Panel<T>>();
    const T least = std::numeric_limits<T>::denorm_min();
    for (int r = 0; r < 20; ++r) (*p)(r, 0) = least * static_cast<T>(r < 10 ? 4 : 2);
    loops.panel(p->at, kApart, 20, 1, p->pivots);
    for (int r = 1; r < 20; ++r) EXPECT_EQ((*p)(r, 0), r < 10 ? T(1) : T(0.5));
  }
}

/// IEEE arithmetic without rows above a pivot: the result of LAPACK's unblocked loops.
TYPED_TEST(LuLoopsTest, InfinitiesStayInWhatTheyReach) {
  using T = TypeParam;
  const T infinite = std::numeric_limits<T>::infinity();
  for (const auto& loops : all_lu_loops<T>()) {
    auto p = std::make_unique<Panel<T>>();
    for (int i = 0; i < 16; ++i) (*p)(i, i) = 2;
    (*p)(5, 9) = infinite;
    EXPECT_EQ(loops.panel(p->at, kApart, 40, 16, p->pivots), 0);
    for (int r = 0; r < 5; ++r) EXPECT_EQ((*p)(r, 9), 0);
    EXPECT_EQ((*p)(5, 9), infinite);

    p = std::make_unique<Panel<T>>();
    for (int r = 0; r < 40; ++r) (*p)(r, 0) = T(r);
    for (int i = 0; i < 16; ++i) (*p)(i, i) += 2;
    (*p)(20, 0) = -infinite;
    EXPECT_EQ(loops.panel(p->at, kApart, 40, 16, p->pivots), 0);
    EXPECT_EQ(p->pivots[0], 20);
    EXPECT_EQ((*p)(0, 0), -infinite);
    for (int r = 1; r < 40; ++r) EXPECT_EQ((*p)(r, 0), 0);
    for (int i = 1; i < 16; ++i) EXPECT_EQ((*p)(i, i), 2);
  }
}

TYPED_TEST(LuLoopsTest, PivotsThatAreNaNAreNotZero) {
  using T = TypeParam;
  for (const auto& loops : all_lu_loops<T>()) {
    auto p = std::make_unique<Panel<T>>();
    (*p)(7, 0) = std::numeric_limits<T>::quiet_NaN();
    EXPECT_EQ(loops.panel(p->at, kApart, 40, 1, p->pivots), 0);
    EXPECT_EQ(p->pivots[0], 7);
  }
}

TYPED_TEST(LuLoopsTest, InversesOfTheLargestPivotsDoNotUnderflow) {
  using T = TypeParam;
  for (const auto& loops : all_lu_loops<T>()) {
    auto p = std::make_unique<Panel<T>>();
    const T most = std::numeric_limits<T>::max();
    for (int r = 0; r < 20; ++r) (*p)(r, 0) = r < 10 ? most : most / 3;
    loops.panel(p->at, kApart, 20, 1, p->pivots);
    for (int r = 1; r < 20; ++r) EXPECT_EQ((*p)(r, 0), r < 10 ? T(1) : most / 3 / most);
  }
}

using LuTest = LinalgTest;
INSTANTIATE_TEST_SUITE_P(Types, LuTest, ::testing::Values(DType::f32, DType::f64), type_name);

TEST_P(LuTest, FactorsOfAllShapes) {
  constexpr std::pair<std::int64_t, std::int64_t> sizes[] = {{17, 17},   {31, 40},   {40, 31},   {16, 90},   {90, 16},
                                                             {33, 128},  {128, 128}, {150, 259}, {259, 150}, {300, 300},
                                                             {530, 541}, {2, 4000},  {4000, 3}};
  for (const auto& [m, n] : sizes) {
    const std::int64_t k = std::min(m, n);
    const Matrix a = random_matrix(m, n, false, static_cast<std::uint32_t>(m * 7 + n));
    NodeRun run(Op::lu_factor);
    input(run, {a});
    run.run();
    if (k < 4) {
      EXPECT_LT(run.scratch_bytes(), static_cast<std::size_t>(3 * m * n * element_size(type()) / 2));
    }
    const Matrix lu = matrix_of(run, 0);
    const std::vector<Number> pivots = run.output(1);
    const std::vector<Long> x = random_matrix(n, 1, false, 9).values;
    std::vector<long double> ux(static_cast<std::size_t>(k)), plux(static_cast<std::size_t>(m));
    for (std::int64_t r = 0; r < k; ++r) {
      for (std::int64_t c = r; c < n; ++c)
        ux[static_cast<std::size_t>(r)] += lu.at(r, c).real() * x[static_cast<std::size_t>(c)].real();
    }
    for (std::int64_t r = 0; r < m; ++r) {
      long double sum = r < k ? ux[static_cast<std::size_t>(r)] : 0;
      for (std::int64_t c = 0; c < std::min(r, k); ++c) {
        ASSERT_LE(std::abs(lu.at(r, c)), 1);
        sum += lu.at(r, c).real() * ux[static_cast<std::size_t>(c)];
      }
      plux[static_cast<std::size_t>(r)] = sum;
    }
    for (std::int64_t j = k - 1; j >= 0; --j) {
      std::swap(plux[static_cast<std::size_t>(j)],
                plux[static_cast<std::size_t>(pivots[static_cast<std::size_t>(j)].real()) - 1]);
    }
    for (std::int64_t r = 0; r < m; ++r) {
      long double expected = 0;
      for (std::int64_t c = 0; c < n; ++c) expected += a.at(r, c).real() * x[static_cast<std::size_t>(c)].real();
      ASSERT_LT(std::abs(plux[static_cast<std::size_t>(r)] - expected), tolerance(n, 20)) << m << ' ' << n << ' ' << r;
    }
  }
}

TEST_P(LuTest, NaNStaysInWhatItReaches) {
  Matrix a = random_matrix(40, 40, false, 3);
  a.at(30, 39) = std::numeric_limits<double>::quiet_NaN();
  NodeRun run(Op::lu_factor);
  input(run, {a});
  run.run();
  const Matrix lu = matrix_of(run, 0);
  for (std::int64_t r = 0; r < 40; ++r) {
    for (std::int64_t c = 0; c < 39; ++c) EXPECT_TRUE(std::isfinite(static_cast<double>(lu.at(r, c).real())));
  }
  EXPECT_TRUE(std::isnan(static_cast<double>(lu.at(39, 39).real())));
}

}  // namespace
}  // namespace tern::test
