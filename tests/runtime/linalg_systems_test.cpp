// Selected eigenvalues, tridiagonal eigenproblems, QR updates, banded and Toeplitz systems by their definitions.
#include <tern/linalg.h>

#include <algorithm>

#include "tests/runtime/linalg_matrices.h"

namespace tern::linalg_test {
namespace {

Dense hermitian(const Dense& a) {
  return a + adjoint(a);
}

double value_at(const Tensor& t, std::size_t i) {
  return t.dtype() == DType::f32 ? static_cast<double>(t.span<float>()[i]) : t.span<double>()[i];
}

TEST(LinalgSystems, SelectedEigenvaluesAreThoseOfEigh) {
  for (const DType t : kTypes) {
    for (const std::int64_t n : {1, 5, 30, 90}) {
      Tensor a = random_tensor(t, {2, n, n}, static_cast<unsigned>(n));
      for (std::size_t i = 0; i < 2; ++i) store(a, i, hermitian(matrix(a, i)));
      const linalg::EighResult all = linalg::eigh(a);
      const auto rows = static_cast<std::size_t>(n);
      const double limit = 40 * epsilon(t) * static_cast<double>(n) * 2;
      for (const bool upper : {false, true}) {
        for (const bool by_value : {false, true}) {
          const std::int64_t first = n / 4, last = -1 - n / 2;
          const double low = -3, high = 4;
          linalg::EighRangeOptions o{.upper = upper};
          if (by_value) {
            o.low = low, o.high = high;
          } else {
            o.first = first, o.last = last;
          }
          const linalg::EighRangeResult r = linalg::eigh_range(a, o);
          for (std::size_t i = 0; i < 2; ++i) {
            std::vector<double> expected;
            for (std::size_t k = 0; k < rows; ++k) {
              const double value = value_at(all.values, i * rows + k);
              const auto number = static_cast<std::int64_t>(k);
              if (by_value ? value > low && value <= high : number >= first && number <= n + last)
                expected.push_back(value);
            }
            const auto count = static_cast<std::size_t>(r.counts.span<const std::int32_t>()[i]);
            ASSERT_EQ(count, expected.size());
            const Dense x = matrix(a, i), v = matrix(r.vectors, i);
            for (std::size_t k = 0; k < v.columns; ++k) {
              const double value = value_at(r.values, i * v.columns + k);
              if (k >= count) {
                EXPECT_TRUE(std::isnan(value));
                continue;
              }
              EXPECT_NEAR(value, expected[k], limit);
              Dense column(rows, 1);
              for (std::size_t row = 0; row < rows; ++row) column(row, 0) = v(row, k);
              Dense scaled = column;
              for (Number& e : scaled.x) e *= value;
              EXPECT_LE(norm(x * column - scaled), limit);
              EXPECT_NEAR(norm(column), 1, limit);
            }
          }
        }
      }
    }
  }
  const Tensor none(DType::f64, {2, 0, 0});
  EXPECT_EQ(linalg::eigh_range(none).values.numel(), 0);
  const Tensor a = random_tensor(DType::f64, {3, 3}, 1);
  EXPECT_NE(message_of([&] { linalg::eigh_range(a, {.first = 3}); }).find("first and last"), std::string::npos);
  EXPECT_EQ(linalg::eigh_range(a, {.low = 1e6}).values.numel(), 0);
  Tensor bad(DType::f64, {2, 80, 80});
  bad.span<double>()[80 * 80] = NAN;
  EXPECT_EQ(linalg::eigh_range_ex(bad, {.last = 2}).info.span<const std::int32_t>()[1], 1);
  EXPECT_NE(message_of([&] { linalg::eigh_range(bad, {.last = 2}); }).find("matrix 1 of the batch has NaN"),
            std::string::npos);
}

TEST(LinalgSystems, TridiagonalMatricesHaveTheirPublishedEigenvalues) {
  // 2 on the diagonal and -1 beside it: 2 - 2 cos(k pi / (n + 1)).
  for (const DType t : {DType::f32, DType::f64}) {
    for (const double size : {1.0, 1e-30, 1e30}) {
      for (const std::int64_t n : {1, 2, 10, 100}) {
        Tensor d(t, {n}), e(t, {n - 1});
        const auto rows = static_cast<std::size_t>(n);
        dispatch_type(t, [&](auto tag) {
          using T = decltype(tag);
          if constexpr (std::is_floating_point_v<T>) {
            std::ranges::fill(d.span<T>(), static_cast<T>(2 * size));
            std::ranges::fill(e.span<T>(), static_cast<T>(-size));
          }
        });
        const auto value = [&](std::size_t k) {
          return size * (2 - 2 * std::cos(static_cast<double>(k + 1) * std::numbers::pi / static_cast<double>(n + 1)));
        };
        const linalg::EighRangeResult all = linalg::eigh_tridiagonal(d, e);
        const double limit = 10 * epsilon(t) * static_cast<double>(n) * size;
        for (std::size_t k = 0; k < rows; ++k) EXPECT_NEAR(value_at(all.values, k), value(k), limit);
        const Dense v = matrix(all.vectors, 0);
        EXPECT_LE(norm(adjoint(v) * v - identity(rows)), 10 * epsilon(t) * static_cast<double>(n));
        const linalg::EighRangeResult few = linalg::eigh_tridiagonal(d, e, {.first = -1});
        EXPECT_NEAR(value_at(few.values, 0), value(rows - 1), limit);
        const linalg::EighRangeResult low = linalg::eigh_tridiagonal(d, e, {.high = value(0) * 1.001});
        ASSERT_EQ(low.counts.span<const std::int32_t>()[0], 1);
        EXPECT_NEAR(value_at(low.values, 0), value(0), limit);
      }
    }
  }
  EXPECT_NE(message_of([] {
              linalg::eigh_tridiagonal(Tensor(DType::f64, {3}), Tensor(DType::f64, {3}));
            }).find("one element fewer"),
            std::string::npos);
}

TEST(LinalgSystems, UpdatedQrFactors) {
  for (const DType t : kTypes) {
    for (const auto& [m, n] :
         std::initializer_list<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {6, 6}, {9, 4}, {4, 9}}) {
      for (const auto mode : {linalg::QrMode::complete, linalg::QrMode::reduced}) {
        if (m < n && mode == linalg::QrMode::reduced) continue;
        const Tensor a = random_tensor(t, {2, m, n}, 1), u = random_tensor(t, {2, m}, 2),
                     v = random_tensor(t, {2, n}, 3);
        const linalg::QrResult r = linalg::qr_update(linalg::qr(a, {.mode = mode}), u, v);
        const Tensor column = Tensor::borrow(u.data(), t, {2, m, 1}), other = Tensor::borrow(v.data(), t, {2, n, 1});
        for (std::size_t i = 0; i < 2; ++i) {
          const Dense q = matrix(r.q, i), triangle = matrix(r.r, i);
          const Dense expected = matrix(a, i) + matrix(column, i) * adjoint(matrix(other, i));
          EXPECT_LE(norm(q * triangle - expected), 30 * epsilon(t) * norm(expected));
          EXPECT_LE(norm(adjoint(q) * q - identity(q.columns)), 60 * epsilon(t));
          for (std::size_t row = 1; row < triangle.rows; ++row) {
            for (std::size_t c = 0; c < std::min(row, triangle.columns); ++c) EXPECT_EQ(triangle(row, c), 0.0);
          }
        }
      }
    }
  }
}

TEST(LinalgSystems, ProductsWithReflections) {
  for (const DType t : kTypes) {
    const Tensor a = random_tensor(t, {2, 7, 4}, 1), c = random_tensor(t, {2, 7, 7}, 2);
    const linalg::QrReflectors f = linalg::geqrf(a);
    const linalg::QrResult whole = linalg::qr(a, {.mode = linalg::QrMode::complete});
    for (const bool left : {false, true}) {
      for (const bool inverse : {false, true}) {
        const Tensor y = linalg::ormqr(f, c, {.left = left, .adjoint = inverse});
        for (std::size_t i = 0; i < 2; ++i) {
          const Dense q = inverse ? adjoint(matrix(whole.q, i)) : matrix(whole.q, i), x = matrix(c, i);
          EXPECT_LE(norm(matrix(y, i) - (left ? q * x : x * q)), 50 * epsilon(t) * norm(x));
        }
      }
    }
  }
}

TEST(LinalgSystems, BandedSystems) {
  for (const DType t : kTypes) {
    for (const std::int64_t n : {1, 2, 9, 40}) {
      for (const auto& [below, above] :
           std::initializer_list<std::pair<std::int64_t, std::int64_t>>{{0, 0}, {1, 2}, {3, 0}, {2, 5}}) {
        const Tensor bands = random_tensor(t, {2, below + above + 1, n}, 3), b = random_tensor(t, {2, n, 3}, 4);
        const Tensor x = linalg::banded_solve(bands, below, b);
        for (std::size_t i = 0; i < 2; ++i) {
          const auto rows = static_cast<std::size_t>(n), up = static_cast<std::size_t>(above);
          Dense a(rows, rows);
          const Dense given = matrix(bands, i);
          for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t c = 0; c < rows; ++c) {
              const auto at = static_cast<std::int64_t>(up + r) - static_cast<std::int64_t>(c);
              if (at >= 0 && at <= below + above) a(r, c) = given(static_cast<std::size_t>(at), c);
            }
          }
          const Dense found = matrix(x, i);
          EXPECT_LE(norm(a * found - matrix(b, i)), 20 * epsilon(t) * norm(a) * norm(found)) << n;
        }
      }
      // A hermitian dominant diagonal, and two diagonals beside it.
      Tensor bands = random_tensor(t, {2, 3, n}, 5);
      const Tensor b = random_tensor(t, {2, n, 2}, 6);
      const auto rows = static_cast<std::size_t>(n);
      Tensor above(t, {2, 3, n});
      for (std::size_t i = 0; i < 2; ++i) {
        Dense given = matrix(bands, i), upper(3, rows), a(rows, rows);
        for (std::size_t c = 0; c < rows; ++c) {
          given(0, c) = 8;
          for (std::size_t d = 0; d < 3 && c + d < rows; ++d) {
            a(c + d, c) = given(d, c);
            a(c, c + d) = upper(2 - d, c + d) = std::conj(given(d, c));
          }
        }
        store(bands, i, given);
        store(above, i, upper);
      }
      const Tensor x = linalg::banded_cholesky_solve(bands, b),
                   y = linalg::banded_cholesky_solve(above, b, {.upper = true});
      for (std::size_t i = 0; i < 2; ++i) {
        Dense a(rows, rows);
        const Dense given = matrix(bands, i), found = matrix(x, i);
        for (std::size_t c = 0; c < rows; ++c) {
          for (std::size_t d = 0; d < 3 && c + d < rows; ++d)
            a(c + d, c) = given(d, c), a(c, c + d) = std::conj(given(d, c));
        }
        EXPECT_LE(norm(a * found - matrix(b, i)), 20 * epsilon(t) * norm(a) * norm(found));
        EXPECT_LE(norm(matrix(y, i) - found), 20 * epsilon(t) * norm(found));
      }
    }
  }
  Tensor bands(DType::f64, {3, 2, 3});
  std::ranges::fill(bands.span<double>(), 1.0);
  bands.span<double>()[6 + 1] = 0;  // matrix 1: rows 2 and 3 change places, and pivot 3 is zero
  const Tensor b(DType::f64, {3, 3, 1});
  EXPECT_EQ(linalg::banded_solve_ex(bands, 1, b).info.span<const std::int32_t>()[1], 3);
  EXPECT_NE(message_of([&] { linalg::banded_cholesky_solve(bands, b); }).find("matrix 0 of the batch is not positive"),
            std::string::npos);
  bands.span<double>()[14] = NAN;
  EXPECT_EQ(linalg::banded_solve_ex(bands, 1, b).info.span<const std::int32_t>()[2], -1);
  EXPECT_NE(message_of([&] { linalg::banded_solve(bands, 2, b); }).find("main diagonal"), std::string::npos);
}

TEST(LinalgSystems, ToeplitzSystems) {
  for (const DType t : kTypes) {
    for (const std::int64_t n : {1, 2, 3, 17, 64}) {
      Tensor column = random_tensor(t, {4, n}, 1), row = random_tensor(t, {4, n}, 2);
      const Tensor b = random_tensor(t, {4, n, 2}, 3);
      const auto rows = static_cast<std::size_t>(n);
      dispatch_type(t, [&](auto tag) {
        using T = decltype(tag);
        const auto c = column.span<T>(), r = row.span<T>();
        for (std::size_t i = 0; i < 4; ++i) r[i * rows] = T(77);  // not read
        if (n > 1) c[3 * rows] = T(0);                            // a zero minor: no recursion
      });
      const Tensor x = linalg::toeplitz_solve(column, row, b);
      const Tensor columns = Tensor::borrow(column.data(), t, {4, n, 1}),
                   others = Tensor::borrow(row.data(), t, {4, n, 1});
      for (std::size_t i = 0; i < 4; ++i) {
        Dense a(rows, rows);
        const Dense down = matrix(columns, i), right = matrix(others, i), found = matrix(x, i);
        for (std::size_t r = 0; r < rows; ++r) {
          for (std::size_t c = 0; c < rows; ++c) a(r, c) = r >= c ? down(r - c, 0) : right(c - r, 0);
        }
        EXPECT_LE(norm(a * found - matrix(b, i)), 20 * epsilon(t) * norm(a) * norm(found)) << n;
      }
    }
  }
  const Tensor zero(DType::f64, {2, 3});
  EXPECT_NE(message_of([&] {
              linalg::toeplitz_solve(zero, zero, Tensor(DType::f64, {2, 3, 1}));
            }).find("matrix 0 of the batch is singular"),
            std::string::npos);
}

}  // namespace
}  // namespace tern::linalg_test
