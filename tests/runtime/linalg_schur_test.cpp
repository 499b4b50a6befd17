// Schur forms, square roots, logarithms, Sylvester's and Lyapunov's equations by residuals, published values and
// errors.
#include <tern/linalg.h>

#include "tests/runtime/linalg_matrices.h"

namespace tern::linalg_test {
namespace {

constexpr std::int64_t kRows[] = {1, 2, 3, 7, 20, 60};  // 60: LAPACK's, where Tern has it

TEST(LinalgSchur, FormsAreTriangularAndUnitarilySimilar) {
  for (const DType t : kTypes) {
    for (const std::int64_t n : kRows) {
      for (const bool complex : {false, true}) {
        const Tensor a = random_tensor(t, {2, n, n}, static_cast<unsigned>(n));
        const linalg::SchurResult r = linalg::schur(a, {.complex = complex});
        ASSERT_EQ(is_complex_type(r.t.dtype()), complex || is_complex_type(t));
        const double limit = 20 * epsilon(t) * static_cast<double>(n);
        for (std::size_t i = 0; i < 2; ++i) {
          const Dense x = matrix(a, i), s = matrix(r.t, i), z = matrix(r.z, i);
          EXPECT_LE(norm(z * s * adjoint(z) - x), limit * norm(x));
          EXPECT_LE(norm(adjoint(z) * z - identity(x.rows)), limit);
          for (std::size_t row = 1; row < x.rows; ++row) {
            for (std::size_t c = 0; c + 1 < row; ++c) EXPECT_EQ(s(row, c), 0.0);
            const Number below = s(row, row - 1);
            if (below == 0.0) continue;
            EXPECT_FALSE(is_complex_type(r.t.dtype()));
            EXPECT_EQ(s(row, row), s(row - 1, row - 1));
            EXPECT_LT(std::real(below * s(row - 1, row)), 0);
            if (row + 1 < x.rows) {
              EXPECT_EQ(s(row + 1, row), 0.0);
            }
          }
        }
      }
    }
  }
}

TEST(LinalgSchur, HardMatrices) {
  for (const double size : {1.0, 1e-300, 1e300}) {
    for (const std::int64_t n : {2, 9, 30}) {
      Tensor a(DType::f64, {3, n, n});
      const auto rows = static_cast<std::size_t>(n);
      for (std::size_t k = 0; k < rows; ++k) {
        const auto x = a.span<double>();
        if (k + 1 < rows) x[k * rows + k + 1] = size;       // a Jordan block of 0
        x[rows * rows + (k + 1) % rows * rows + k] = size;  // a permutation
        for (std::size_t c = 0; c < rows; ++c)              // graded
          x[2 * rows * rows + k * rows + c] = size * std::pow(10.0, -0.4 * static_cast<double>(k + c));
      }
      const linalg::SchurResult r = linalg::schur(a);
      for (std::size_t i = 0; i < 3; ++i) {
        Dense x = matrix(a, i), s = matrix(r.t, i);
        for (Number& e : x.x) e /= size;
        for (Number& e : s.x) e /= size;
        const Dense z = matrix(r.z, i);
        EXPECT_LE(norm(z * s * adjoint(z) - x), 1e-14 * static_cast<double>(n) * norm(x));
      }
    }
  }
}

TEST(LinalgSchur, SquareRootsAndLogarithmsOfMatricesAwayFromTheNegativeAxis) {
  for (const DType t : kTypes) {
    for (const std::int64_t n : kRows) {
      Tensor a = random_tensor(t, {3, n, n}, static_cast<unsigned>(n) + 5);
      const auto rows = static_cast<std::size_t>(n);
      for (std::size_t i = 0; i < 3; ++i) {
        Dense x = matrix(a, i);
        if (i == 2) x = x * adjoint(x);  // hermitian
        for (std::size_t k = 0; k < rows; ++k) x(k, k) += 3 * std::sqrt(static_cast<double>(n));
        store(a, i, x);
      }
      const Tensor root = linalg::matrix_sqrt(a), log = linalg::matrix_log(a), back = linalg::matrix_exp(log);
      ASSERT_EQ(root.dtype(), t);
      for (std::size_t i = 0; i < 3; ++i) {
        const Dense x = matrix(a, i), y = matrix(root, i);
        const double limit = 50 * epsilon(t) * static_cast<double>(n);
        EXPECT_LE(norm(y * y - x), limit * norm(x)) << n;
        EXPECT_LE(norm(matrix(back, i) - x), limit * norm(x)) << n;
        if (i == 2) {
          EXPECT_LE(norm(y - adjoint(y)), limit * norm(y));
        }
      }
    }
  }
}

TEST(LinalgSchur, PublishedFunctions) {
  // Powers of [33 24; 48 57] (Wikipedia, "Square root of a matrix"): the principal root is [5 2; 4 7].
  Tensor a(DType::f64, {2, 2});
  store(a, 0, [] {
    Dense x(2, 2);
    x.x = {33, 24, 48, 57};
    return x;
  }());
  const Dense root = matrix(linalg::matrix_sqrt(a), 0);
  const double expected[] = {5, 2, 4, 7};
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(root.x[k].real(), expected[k], 1e-13);
  // The logarithm of a rotation by 1.25 pi is that of one by -0.75 pi.
  const double angle = 1.25 * std::numbers::pi;
  Dense turn(2, 2);
  turn.x = {std::cos(angle), -std::sin(angle), std::sin(angle), std::cos(angle)};
  store(a, 0, turn);
  const Dense log = matrix(linalg::matrix_log(a), 0);
  const double turned[] = {0, 0.75 * std::numbers::pi, -0.75 * std::numbers::pi, 0};
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(log.x[k].real(), turned[k], 1e-14);
  // A Jordan block of 1: log has elements (-1)^(k - 1) / k on diagonal k, sqrt has binomials of 1/2.
  Tensor block(DType::f64, {8, 8});
  for (std::size_t k = 0; k < 8; ++k) {
    block.span<double>()[k * 9] = 1;
    if (k < 7) block.span<double>()[k * 9 + 1] = 1;
  }
  const Dense block_log = matrix(linalg::matrix_log(block), 0), block_root = matrix(linalg::matrix_sqrt(block), 0);
  double binomial = 1;
  for (std::size_t k = 0; k < 8; ++k) {
    const auto d = static_cast<double>(k);
    EXPECT_NEAR(block_log(0, k).real(), k == 0 ? 0 : (k % 2 == 1 ? 1 : -1) / d, 1e-14);
    EXPECT_NEAR(block_root(0, k).real(), binomial, 1e-15);
    binomial *= (0.5 - d) / (d + 1);
  }
}

TEST(LinalgSchur, MatricesWithoutRootAreNamed) {
  Tensor a(DType::f64, {4, 2, 2});
  const auto x = a.span<double>();
  x[0] = x[3] = 4;      // 4 I
  x[4] = -4, x[7] = 9;  // a negative eigenvalue
  x[9] = 1;             // [0 1; 0 0] has no square root
  x[12] = NAN;
  const linalg::MatrixFunctionExResult r = linalg::matrix_sqrt_ex(a);
  const std::int32_t expected[] = {0, 3, 3, 1};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(r.info.span<const std::int32_t>()[i], expected[i]) << i;
  EXPECT_DOUBLE_EQ(matrix(r.result, 0)(0, 0).real(), 2);
  EXPECT_TRUE(std::isnan(matrix(r.result, 2)(0, 0).real()));
  EXPECT_NE(message_of([&] { linalg::matrix_sqrt(a); }).find("matrix_sqrt: matrix 1 of the batch has no square root"),
            std::string::npos);
  const linalg::MatrixFunctionExResult c = linalg::matrix_sqrt_ex(a, {.complex = true});
  EXPECT_EQ(c.info.span<const std::int32_t>()[1], 0);
  EXPECT_NEAR(std::abs(matrix(c.result, 1)(0, 0) - Number(0, 2)), 0, 1e-15);
  const linalg::MatrixFunctionExResult logs = linalg::matrix_log_ex(a, {.complex = true});
  EXPECT_EQ(logs.info.span<const std::int32_t>()[2], 3);
  EXPECT_NEAR(std::abs(matrix(logs.result, 1)(0, 0) - Number(std::log(4.0), std::numbers::pi)), 0, 1e-14);
  EXPECT_NE(message_of([&] { linalg::schur(Tensor(DType::f64, {2, 3})); }).find("square"), std::string::npos);
}

TEST(LinalgSchur, MatricesWithoutRowsAndEmptyBatches) {
  for (const DType t : kTypes) {
    for (const auto& sizes : {std::vector<std::int64_t>{3, 0, 0}, std::vector<std::int64_t>{0, 4, 4}}) {
      const Tensor a(t, sizes);
      EXPECT_EQ(linalg::schur(a).t.sizes(), sizes);
      EXPECT_EQ(linalg::schur(a, {.complex = true}).z.sizes(), sizes);
      EXPECT_EQ(linalg::matrix_sqrt(a).sizes(), sizes);
      EXPECT_EQ(linalg::matrix_log(a).sizes(), sizes);
      EXPECT_EQ(linalg::sylvester(a, a, a).sizes(), sizes);
      EXPECT_EQ(linalg::lyapunov(a, a).sizes(), sizes);
      EXPECT_EQ(linalg::lyapunov(a, a, {.discrete = true}).sizes(), sizes);
      EXPECT_EQ(linalg::qr_update({a, a}, Tensor(t, {sizes[0], sizes[1]}), Tensor(t, {sizes[0], sizes[1]})).q.sizes(),
                sizes);
      const Tensor line(t, {sizes[0], sizes[1]});
      EXPECT_EQ(linalg::toeplitz_solve(line, line, a).sizes(), sizes);
      EXPECT_EQ(linalg::banded_solve(Tensor(t, {sizes[0], 3, sizes[1]}), 1, a).sizes(), sizes);
      EXPECT_EQ(linalg::banded_cholesky_solve(Tensor(t, {sizes[0], 2, sizes[1]}), a).sizes(), sizes);
    }
  }
}

TEST(LinalgSchur, EquationsHaveSmallResiduals) {
  for (const DType t : kTypes) {
    for (const std::int64_t n : kRows) {
      const std::int64_t m = n / 2 + 1;
      Tensor a = random_tensor(t, {2, m, m}, 1), b = random_tensor(t, {2, n, n}, 2);
      const Tensor q = random_tensor(t, {2, m, n}, 3), own = random_tensor(t, {2, n, n}, 4);
      for (std::size_t i = 0; i < 2; ++i) {  // spectra apart
        Dense x = matrix(a, i), y = matrix(b, i);
        for (std::size_t k = 0; k < x.rows; ++k) x(k, k) += 2 * std::sqrt(static_cast<double>(m));
        for (std::size_t k = 0; k < y.rows; ++k) y(k, k) += 2 * std::sqrt(static_cast<double>(n));
        store(a, i, x);
        store(b, i, y);
      }
      const Tensor x = linalg::sylvester(a, b, q), y = linalg::lyapunov(b, own),
                   z = linalg::lyapunov(b, own, {.discrete = true});
      const double limit = 40 * epsilon(t) * static_cast<double>(n);
      for (std::size_t i = 0; i < 2; ++i) {
        const Dense left = matrix(a, i), right = matrix(b, i), given = matrix(own, i);
        const Dense s = matrix(x, i), c = matrix(y, i), d = matrix(z, i);
        EXPECT_LE(norm(left * s + s * right - matrix(q, i)), limit * (norm(left) + norm(right)) * norm(s));
        EXPECT_LE(norm(right * c + c * adjoint(right) - given), limit * 2 * norm(right) * norm(c));
        EXPECT_LE(norm(right * d * adjoint(right) - d + given), limit * norm(right) * norm(right) * norm(d));
      }
    }
  }
}

TEST(LinalgSchur, EquationsWithoutSolutionAreNamed) {
  Tensor a(DType::f64, {2, 2, 2});
  const auto x = a.span<double>();
  x[0] = 2, x[3] = -3;  // 2 and 3 with B
  x[4] = 2, x[7] = 5;
  Tensor b(DType::f64, {2, 2, 2});
  for (std::size_t k : {0, 3, 4, 7}) b.span<double>()[k] = 3;
  const Tensor q = random_tensor(DType::f64, {2, 2, 2}, 1);
  const linalg::SolveResult r = linalg::sylvester_ex(a, b, q);
  EXPECT_EQ(r.info.span<const std::int32_t>()[0], 3);
  EXPECT_EQ(r.info.span<const std::int32_t>()[1], 0);
  EXPECT_NEAR(matrix(r.x, 1)(0, 1).real(), matrix(q, 1)(0, 1).real() / 5, 1e-15);
  EXPECT_NE(message_of([&] { linalg::sylvester(a, b, q); }).find("matrix 0 of the batch has no unique solution"),
            std::string::npos);
  x[0] = 1;
  EXPECT_NE(message_of([&] { linalg::lyapunov(a, q, {.discrete = true}); }).find("no unique solution"),
            std::string::npos);
  x[3] = -1;
  EXPECT_NE(message_of([&] { linalg::lyapunov(a, q); }).find("no unique solution"), std::string::npos);
  EXPECT_NE(message_of([&] {
              linalg::sylvester(a, b, Tensor(DType::f64, {2, 2, 3}));
            }).find("columns of B"),
            std::string::npos);
  // Subnormal and huge coefficients.
  for (const double size : {1e-320, 1e305}) {
    Tensor c(DType::f64, {2, 2});
    c.span<double>()[0] = size, c.span<double>()[3] = 2 * size;
    const Tensor one = linalg::lyapunov(c, c);
    EXPECT_NEAR(one.span<const double>()[0], 0.5, 1e-3);
    EXPECT_NEAR(one.span<const double>()[3], 0.5, 1e-3);
  }
}

}  // namespace
}  // namespace tern::linalg_test
