// The float product against a sum in double, for every size of a last block, every order of the strides, and each
// instruction set that this processor has.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "dtypes/cpu_features.h"
#include "kernels/cpu/products/float32/strided_driver.h"
#include "kernels/cpu/products/float32/strided_microkernel.h"

namespace tern {
namespace {

struct Matrix {
  std::int64_t rows, columns, row, column;
  std::vector<float> data;
  float at(std::int64_t i, std::int64_t j) const { return data[static_cast<std::size_t>(i * row + j * column)]; }
};

enum class Order { rows, columns, apart };  // apart: neither stride is 1

Matrix matrix(std::int64_t rows, std::int64_t columns, Order order, unsigned seed) {
  Matrix m{rows, columns, columns, 1, {}};
  if (order == Order::columns) m.row = 1, m.column = rows;
  if (order == Order::apart) m.row = 2 * columns, m.column = 2;
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> element(-1, 1);
  m.data.resize(static_cast<std::size_t>((rows - 1) * m.row + (columns - 1) * m.column + 1));
  for (float& x : m.data) x = element(random);
  return m;
}

constexpr float kStridedUntouched = 12345;

/// Expects an error of at most k roundings: k * 2^-24 of the sum of absolute products.
void check(const Matrix& a, const Matrix& b, const std::vector<float>& c, std::int64_t ldc, bool accumulate) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < ldc; ++j) {
      const float got = c[static_cast<std::size_t>(i * ldc + j)];
      if (j >= b.columns) {
        ASSERT_EQ(got, kStridedUntouched) << "behind row " << i;
        continue;
      }
      double sum = accumulate ? kStridedUntouched : 0, size = std::abs(sum);
      for (std::int64_t p = 0; p < a.columns; ++p) {
        const double product = static_cast<double>(a.at(i, p)) * static_cast<double>(b.at(p, j));
        sum += product;
        size += std::abs(product);
      }
      ASSERT_NEAR(got, sum, size * std::ldexp(static_cast<double>(a.columns + 1), -24))
          << a.rows << "x" << b.columns << "x" << a.columns << " at " << i << ", " << j;
    }
  }
}

void multiply(const Matrix& a, const Matrix& b, bool accumulate) {
  const std::int64_t ldc = b.columns + 3;
  std::vector<float> c(static_cast<std::size_t>(a.rows * ldc), kStridedUntouched);
  sgemm(a.rows, b.columns, a.columns, a.data.data(), a.row, a.column, b.data.data(), b.row, b.column, c.data(), ldc,
        accumulate);
  check(a, b, c, ldc, accumulate);
}

TEST(Sgemm, EverySizeOfALastBlock) {
  for (std::int64_t m = 1; m <= 27; ++m) {
    for (const std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 65}) {
      multiply(matrix(m, 7, Order::rows, 1), matrix(7, n, Order::rows, 2), m % 2 == 0);
    }
  }
}

TEST(Sgemm, EveryOrderOfStrides) {
  for (const Order left : {Order::rows, Order::columns, Order::apart}) {
    for (const Order right : {Order::rows, Order::columns, Order::apart}) {
      for (const std::int64_t m : {1, 2, 13, 50}) {
        for (const std::int64_t k : {1, 3, 4, 30, 66, 300}) {
          multiply(matrix(m, k, left, 3), matrix(k, 45, right, 4), false);
        }
      }
    }
  }
}

TEST(Sgemm, SeveralBlocksInEachDirection) {
  multiply(matrix(500, 600, Order::rows, 5), matrix(600, 40, Order::columns, 6), false);
  multiply(matrix(20, 70, Order::rows, 7), matrix(70, 2100, Order::rows, 8), true);
}

TEST(Sgemm, OneRowOrOneColumn) {
  for (const Order order : {Order::rows, Order::columns, Order::apart}) {
    for (const std::int64_t k : {1, 7, 8, 9, 100}) {
      for (const std::int64_t length : {1, 31, 32, 70, 4500}) {
        multiply(matrix(1, k, Order::rows, 13), matrix(k, length, order, 14), length % 2 == 0);
        multiply(matrix(2, k, order, 13), matrix(k, length, Order::rows, 14), false);
        const Matrix a = matrix(length, k, order, 15), b = matrix(k, 1, Order::rows, 16);
        std::vector<float> c(static_cast<std::size_t>(length), kStridedUntouched);
        sgemm(length, 1, k, a.data.data(), a.row, a.column, b.data.data(), b.row, b.column, c.data(), 1, k % 2 == 0);
        check(a, b, c, 1, k % 2 == 0);
      }
    }
  }
}

TEST(Sgemm, NothingBesideAnOperandIsRead) {
  Matrix a = matrix(3, 5, Order::apart, 9), b = matrix(5, 7, Order::apart, 10);
  const auto mark = [](Matrix& m) {
    std::vector<float> marked(m.data.size(), std::numeric_limits<float>::quiet_NaN());
    for (std::int64_t i = 0; i < m.rows; ++i) {
      for (std::int64_t j = 0; j < m.columns; ++j)
        marked[static_cast<std::size_t>(i * m.row + j * m.column)] = m.at(i, j);
    }
    m.data = std::move(marked);
  };
  mark(a);
  mark(b);
  multiply(a, b, false);
}

TEST(Sgemm, TheBitsDoNotDependOnTheThreads) {
  const Matrix a = matrix(150, 520, Order::rows, 11), b = matrix(520, 130, Order::rows, 12);
  const auto product = [&](int threads) {
    const int before = omp_get_max_threads();
    omp_set_num_threads(threads);
    std::vector<float> c(150 * 130);
    sgemm(150, 130, 520, a.data.data(), a.row, a.column, b.data.data(), b.row, b.column, c.data(), 130, false);
    omp_set_num_threads(before);
    return c;
  };
  EXPECT_EQ(product(1), product(5));
}

TEST(SgemmMicro, EachInstructionSet) {
  std::vector<void (*)(strided_product::StridedMicroKernels*)> sets;
  for_each_level(strided_product::set_levels, [&](auto set) { sets.push_back(set); });
  for (const auto set : sets) {
    strided_product::StridedMicroKernels kernels;
    set(&kernels);
    for (int rows = 1; rows <= kernels.rows; ++rows) {
      for (int n = 1; n <= kernels.columns; ++n) {
        const Matrix a = matrix(rows, 6, Order::rows, 13), b = matrix(6, n, Order::columns, 14);
        std::vector<float> panel(static_cast<std::size_t>(6 * kernels.columns), std::nanf(""));
        kernels.pack(b.data.data(), b.row, b.column, 6, n, panel.data());
        const std::int64_t ldc = kernels.columns + 1;
        std::vector<float> c(static_cast<std::size_t>(rows * ldc), kStridedUntouched);
        kernels.row_kernels[rows - 1](a.data.data(), a.row, a.column, panel.data(), kernels.columns, 6, c.data(), ldc,
                                      n, strided_product::SumMode::stored);
        check(a, b, c, ldc, false);
      }
    }
    for (const std::int64_t k : {1, 5, 16, 33, 70, 257}) {
      const Matrix a = matrix(1, k, Order::rows, 15), b = matrix(k, 4, Order::columns, 16);
      std::vector<float> sums(4);
      kernels.four_dots(a.data.data(), b.data.data(), b.column, k, sums.data());
      check(a, b, sums, 4, false);
      kernels.dot(a.data.data(), b.data.data(), b.column, k, sums.data());
      check(a, b, sums, 4, false);
    }
  }
}

/// Windows of 2 taps: products of rows of 2 * 7 elements, with accumulation and bounds.
TEST(SgemmMicro, WindowsOfEachInstructionSet) {
  std::vector<void (*)(strided_product::StridedMicroKernels*)> sets;
  for_each_level(strided_product::set_levels, [&](auto set) { sets.push_back(set); });
  constexpr std::int64_t kDepth = 7, kStep = 5;  // four steps at once, and some more
  const std::ptrdiff_t taps[] = {0, 40};
  for (const auto set : sets) {
    strided_product::StridedMicroKernels kernels;
    set(&kernels);
    const std::int64_t ldc = kernels.columns + 1;
    for (int rows = 1; rows <= kernels.rows; ++rows) {
      for (int n = 1; n <= kernels.columns; ++n) {
        const Matrix image = matrix(1, 40 + rows * kStep + kDepth, Order::rows, 17),
                     b = matrix(kDepth * 2, n, Order::columns, 18), bias = matrix(1, kernels.columns, Order::rows, 19),
                     add = matrix(rows, ldc, Order::rows, 20);
        std::vector<float> panel(static_cast<std::size_t>(2 * kDepth * kernels.columns)),
            c(static_cast<std::size_t>(rows * ldc), kStridedUntouched);
        kernels.pack(b.data.data(), b.row, b.column, 2 * kDepth, n, panel.data());
        const strided_product::RegisterEpilogue finish{bias.data.data(), add.data.data(), -0.5F, 0.75F};
        strided_product::WindowProduct p{image.data.data(),   kStep,    taps, 2, kDepth, panel.data(),
                                         2 * kernels.columns, c.data(), ldc,  n, false,  nullptr};
        const auto run = kernels.windows[n > kernels.columns / 2 ? 1 : 0][rows - 1];
        run(p);
        p.accumulate = true;
        p.finish = &finish;
        run(p);
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < ldc; ++j) {
            const float got = c[static_cast<std::size_t>(i * ldc + j)];
            if (j >= n) {
              ASSERT_EQ(got, kStridedUntouched) << "behind row " << i;
              continue;
            }
            double sum = 0;
            for (std::int64_t t = 0; t < 2; ++t) {
              for (std::int64_t k = 0; k < kDepth; ++k)
                sum +=
                    static_cast<double>(image.at(0, i * kStep + taps[t] + k)) * static_cast<double>(b.at(2 * k + t, j));
            }
            sum = 2 * sum + static_cast<double>(bias.at(0, j)) + static_cast<double>(add.at(i, j));
            ASSERT_NEAR(got, std::clamp(sum, -0.5, 0.75), 1e-5) << rows << "x" << n << " at " << i << ", " << j;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tern
