// Identities of tern::linalg in float64 and complex128: products reproduce the operand, columns are orthonormal,
// determinants come from permutations, exponentials have known sums. Several sizes cover LAPACK (large) and Tern's
// loops (small).
#include <gtest/gtest.h>
#include <tern/error.h>
#include <tern/linalg.h>

#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <numbers>
#include <random>
#include <thread>

#include "threads/threads.h"

namespace tern::linalg {
namespace {

using C = std::complex<double>;
constexpr std::int64_t kLinalgBatch = 5;

/// A batch as numbers, whatever the type: [count, rows, columns].
struct Batch {
  std::size_t count, rows, columns;
  std::vector<C> x;

  Batch(std::size_t n, std::size_t r, std::size_t c) : count(n), rows(r), columns(c), x(n * r * c) {}
  explicit Batch(const Tensor& t) : Batch(1, 1, 1) {
    const auto rank = t.sizes().size();
    rows = static_cast<std::size_t>(t.sizes()[rank - 2]);
    columns = static_cast<std::size_t>(t.sizes()[rank - 1]);
    const Tensor dense = t.contiguous();
    if (t.dtype() == DType::f64) {
      x.assign(dense.span<double>().begin(), dense.span<double>().end());
    } else {
      x.assign(dense.span<C>().begin(), dense.span<C>().end());
    }
    count = rows * columns == 0 ? 0 : x.size() / rows / columns;
  }
  C& at(std::size_t i, std::size_t r, std::size_t c) { return x[(i * rows + r) * columns + c]; }
  C at(std::size_t i, std::size_t r, std::size_t c) const { return x[(i * rows + r) * columns + c]; }
  Tensor tensor(DType t) const {
    Tensor to(t,
              {static_cast<std::int64_t>(count), static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)});
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (t == DType::f64) to.span<double>()[i] = x[i].real();
      if (t == DType::c128) to.span<C>()[i] = x[i];
    }
    return to;
  }
};
Batch operator*(const Batch& a, const Batch& b) {
  Batch y(a.count, a.rows, b.columns);
  for (std::size_t i = 0; i < a.count; ++i) {
    for (std::size_t r = 0; r < a.rows; ++r) {
      for (std::size_t c = 0; c < b.columns; ++c) {
        for (std::size_t k = 0; k < a.columns; ++k) y.at(i, r, c) += a.at(i, r, k) * b.at(i, k, c);
      }
    }
  }
  return y;
}
Batch adjoint(const Batch& a) {
  Batch y(a.count, a.columns, a.rows);
  for (std::size_t i = 0; i < a.count; ++i) {
    for (std::size_t r = 0; r < a.rows; ++r) {
      for (std::size_t c = 0; c < a.columns; ++c) y.at(i, c, r) = std::conj(a.at(i, r, c));
    }
  }
  return y;
}
Batch diagonal(const Tensor& values, std::size_t rows, std::size_t columns) {
  const auto k = static_cast<std::size_t>(values.sizes().back());
  const bool real = values.dtype() == DType::f64;
  const auto numel = static_cast<std::size_t>(values.numel());
  Batch y(numel / k, rows, columns);
  for (std::size_t i = 0; i < numel; ++i) {
    y.at(i / k, i % k, i % k) = real ? C(values.span<double>()[i]) : values.span<C>()[i];
  }
  return y;
}
Batch identity_batch(std::size_t count, std::size_t n) {
  Batch y(count, n, n);
  for (std::size_t i = 0; i < count * n; ++i) y.at(i / n, i % n, i % n) = 1;
  return y;
}

class Linalg : public ::testing::TestWithParam<DType> {
 protected:
  DType type() const { return GetParam(); }
  Batch random(std::int64_t rows, std::int64_t columns) {
    std::uniform_real_distribution<double> number(-1, 1);
    Batch a(kLinalgBatch, static_cast<std::size_t>(rows), static_cast<std::size_t>(columns));
    for (C& x : a.x) x = C(number(engine_), type() == DType::c128 ? number(engine_) : 0);
    return a;
  }
  /// Far from singular, with row exchanges.
  Batch regular(std::int64_t n) {
    Batch a = random(n, n);
    for (std::size_t i = 0; i < a.count; ++i) {
      for (std::size_t r = 0; r < a.rows; ++r) a.at(i, r, (r + i) % a.rows) += static_cast<double>(n);
    }
    return a;
  }
  Batch hermitian(std::int64_t n, double shift) {
    Batch a = random(n, n);
    const Batch h = linalg::adjoint(a);
    for (std::size_t i = 0; i < a.x.size(); ++i) a.x[i] += h.x[i];
    for (std::size_t i = 0; i < a.count * a.rows; ++i) a.at(i / a.rows, i % a.rows, i % a.rows) += shift;
    return a;
  }
  static constexpr std::int64_t kSizes[] = {1, 2, 3, 8, 20, 40};

 private:
  std::mt19937 engine_{11};
  const ThreadScope one_thread_{Threads(1)};  // small products of LAPACK wait for each other on busy machines
};
INSTANTIATE_TEST_SUITE_P(Types, Linalg, ::testing::Values(DType::f64, DType::c128),
                         [](const auto& info) { return std::string(name_of(info.param)); });

/// Elements differ only by rounding errors, of values up to `size`.
void expect_equal(const Batch& a, const Batch& b, double size = 1) {
  ASSERT_EQ(a.x.size(), b.x.size());
  ASSERT_EQ(a.rows, b.rows);
  double largest = 0;
  for (std::size_t i = 0; i < a.x.size(); ++i) {
    const double d = std::abs(a.x[i] - b.x[i]);
    if (!(d <= largest)) largest = d;  // NaN too
  }
  EXPECT_LE(largest, 4e-15 * static_cast<double>(a.rows + a.columns) * size);
}
void expect_orthonormal(const Batch& columns) {
  expect_equal(linalg::adjoint(columns) * columns, identity_batch(columns.count, columns.columns), 2);
}

TEST_P(Linalg, CholeskyAndItsSolution) {
  for (const std::int64_t n : kSizes) {
    const Batch a = hermitian(n, 2.0 * static_cast<double>(n)), b = random(n, 3);
    for (const bool upper : {false, true}) {
      const Tensor factor = cholesky(a.tensor(type()), {.upper = upper});
      const Batch f(factor);
      expect_equal(upper ? linalg::adjoint(f) * f : f * linalg::adjoint(f), a, 4.0 * static_cast<double>(n));
      if (n > 1) {
        EXPECT_EQ(upper ? f.at(1, 1, 0) : f.at(1, 0, 1), C(0));
      }
      expect_equal(a * Batch(cholesky_solve(factor, b.tensor(type()), {.upper = upper})), b, 4);
    }
  }
}

TEST_P(Linalg, LuAndItsSolutions) {
  for (const std::int64_t n : kSizes) {
    const Batch a = regular(n), b = random(n, 2), c = random(2, n);
    const LuFactors lu = lu_factor(a.tensor(type()));
    EXPECT_EQ(lu.pivots.sizes(), (std::vector<std::int64_t>{kLinalgBatch, n}));
    expect_equal(a * Batch(lu_solve(lu, b.tensor(type()))), b, 4);
    expect_equal(linalg::adjoint(a) * Batch(lu_solve(lu, b.tensor(type()), {.transpose = Transpose::adjoint})), b, 4);
    expect_equal(Batch(lu_solve(lu, c.tensor(type()), {.left = false})) * a, c, 4);
    expect_equal(a * Batch(solve(a.tensor(type()), b.tensor(type()))), b, 4);
    expect_equal(Batch(solve(a.tensor(type()), c.tensor(type()), {.left = false})) * a, c, 4);
    expect_equal(a * Batch(inv(a.tensor(type()))), identity_batch(kLinalgBatch, a.rows), 4);
  }
}

TEST_P(Linalg, TriangularSystems) {
  for (const std::int64_t n : kSizes) {
    Batch a = regular(n), lower = a;
    for (std::size_t i = 0; i < a.count; ++i) {
      for (std::size_t r = 0; r < a.rows; ++r) {
        a.at(i, r, r) = lower.at(i, r, r) = 2.0 * static_cast<double>(n);
        for (std::size_t c = r + 1; c < a.rows; ++c) lower.at(i, r, c) = 0;
        for (std::size_t c = 0; c < r; ++c) a.at(i, r, c) = lower.at(i, r, c) = 0.5;
      }
    }
    const Batch b = random(n, 2), c = random(2, n);
    expect_equal(lower * Batch(triangular_solve(a.tensor(type()), b.tensor(type()))), b, 4);
    expect_equal(Batch(triangular_solve(a.tensor(type()), c.tensor(type()), {.left = false})) * lower, c, 4);
    const Tensor x = triangular_solve(a.tensor(type()), b.tensor(type()), {.transpose = Transpose::adjoint});
    expect_equal(linalg::adjoint(lower) * Batch(x), b, 4);
    const Tensor upper = triangular_solve(linalg::adjoint(lower).tensor(type()), b.tensor(type()), {.upper = true});
    expect_equal(Batch(upper), Batch(x), 4);
  }
}

TEST_P(Linalg, Qr) {
  for (const auto& [m, n] : {std::pair{1, 1}, {6, 3}, {3, 6}, {20, 20}, {40, 24}, {24, 40}}) {
    const Batch a = random(m, n);
    for (const QrMode mode : {QrMode::reduced, QrMode::complete}) {
      const QrResult r = qr(a.tensor(type()), {.mode = mode});
      EXPECT_EQ(r.q.sizes().back(), mode == QrMode::complete ? m : std::min(m, n));
      expect_orthonormal(Batch(r.q));
      expect_equal(Batch(r.q) * Batch(r.r), a, 8);
      if (m > 1 && n > 1) {
        EXPECT_EQ(Batch(r.r).at(2, 1, 0), C(0));
      }
    }
    const QrResult r = qr(a.tensor(type()), {.mode = QrMode::r});
    EXPECT_EQ(r.q.numel(), 0);
    expect_equal(Batch(r.r), Batch(qr(a.tensor(type())).r), 8);
  }
}

TEST_P(Linalg, EigenvaluesOfHermitianMatrices) {
  for (const std::int64_t n : kSizes) {
    const Batch a = hermitian(n, 0);
    for (const bool upper : {false, true}) {
      Batch triangle = a;  // the other triangle is not read
      for (std::size_t c = 1; c < a.rows; ++c) (upper ? triangle.at(0, c, 0) : triangle.at(0, 0, c)) = 1e9;
      const auto [values, vectors] = eigh(triangle.tensor(type()), {.upper = upper});
      const Batch v(vectors);
      expect_orthonormal(v);
      expect_equal(a * v, v * diagonal(values, a.rows, a.rows), static_cast<double>(n));
      const auto w = values.span<const double>();
      for (std::size_t i = 1; i < a.rows; ++i) EXPECT_LE(w[i - 1], w[i]);
      const Tensor alone = eigvalsh(triangle.tensor(type()), {.upper = upper});
      for (std::size_t i = 0; i < w.size(); ++i) {
        EXPECT_NEAR(w[i], alone.span<double>()[i], 1e-13 * static_cast<double>(n));
      }
    }
  }
}

TEST_P(Linalg, EigenvaluesOfAnyMatrix) {
  for (const std::int64_t n : kSizes) {
    const Batch a = regular(n);
    const auto [values, vectors] = eig(a.tensor(type()));
    ASSERT_EQ(values.dtype(), DType::c128);
    const Batch v(vectors);
    expect_equal(a * v, v * diagonal(values, a.rows, a.rows), 8.0 * static_cast<double>(n));
    const Tensor alone = eigvals(a.tensor(type()));
    for (std::size_t i = 0; i < a.count; ++i) {  // their sum is the trace
      C sum = 0, trace = 0;
      for (std::size_t k = 0; k < a.rows; ++k) {
        sum += alone.span<const C>()[i * a.rows + k];
        trace += a.at(i, k, k);
      }
      EXPECT_NEAR(std::abs(sum - trace), 0, 1e-13 * static_cast<double>(n * n));
    }
  }
}

TEST_P(Linalg, SingularValues) {
  for (const auto& [m, n] : {std::pair{1, 1}, {6, 3}, {3, 6}, {20, 20}, {40, 24}, {24, 40}}) {
    const Batch a = random(m, n);
    for (const bool full : {true, false}) {
      const SvdResult r = svd(a.tensor(type()), {.full_matrices = full});
      const Batch u(r.u), vh(r.vh);
      expect_orthonormal(u);
      expect_orthonormal(linalg::adjoint(vh));
      EXPECT_EQ(u.columns, static_cast<std::size_t>(full ? m : std::min(m, n)));
      expect_equal(u * diagonal(r.s, u.columns, vh.rows) * vh, a, 16);
      const Tensor alone = svdvals(a.tensor(type()));
      for (std::size_t i = 0; i < static_cast<std::size_t>(alone.numel()); ++i) {
        EXPECT_NEAR(r.s.span<const double>()[i], alone.span<const double>()[i], 1e-13 * m);
      }
    }
  }
}

TEST_P(Linalg, Determinants) {
  // det(A B) = det(A) det(B); a permutation of n numbers in a circle has the sign (-1)^(n - 1).
  for (const std::int64_t n : {1, 2, 3, 8, 20}) {
    const Batch a = random(n, n), b = random(n, n);
    const Tensor da = det(a.tensor(type())), db = det(b.tensor(type())), both = det((a * b).tensor(type()));
    const auto [sign, log] = slogdet(a.tensor(type()));
    const auto number = [&](const Tensor& t, std::size_t i) {
      return type() == DType::f64 ? C(t.span<double>()[i]) : t.span<C>()[i];
    };
    for (std::size_t i = 0; i < a.count; ++i) {
      const C product = number(da, i) * number(db, i);
      EXPECT_NEAR(std::abs(number(both, i) - product), 0, 1e-11 * std::abs(product));
      const C again = number(sign, i) * std::exp(log.span<const double>()[i]);
      EXPECT_NEAR(std::abs(again - number(da, i)), 0, 1e-12 * std::abs(again));
      EXPECT_NEAR(std::abs(number(sign, i)), 1, 1e-14);
    }
    Batch circle(1, a.rows, a.rows);
    for (std::size_t r = 0; r < a.rows; ++r) circle.at(0, r, (r + 1) % a.rows) = 1;
    EXPECT_EQ(number(det(circle.tensor(type())), 0), C(n % 2 == 1 ? 1 : -1));
  }
}

TEST_P(Linalg, Pseudoinverses) {
  for (const auto& [m, n] : {std::pair{1, 1}, {6, 3}, {3, 6}, {24, 40}}) {
    const std::int64_t rank = std::min(m, n) > 2 ? 2 : 1;  // less than full: a product
    const Batch a = random(m, rank) * random(rank, n), p(pinv(a.tensor(type())));
    EXPECT_EQ(p.rows, static_cast<std::size_t>(n));
    const double size = 100.0 * m;
    expect_equal(a * p * a, a, size);  // Penrose's four
    expect_equal(p * a * p, p, size);
    expect_equal(linalg::adjoint(a * p), a * p, size);
    expect_equal(linalg::adjoint(p * a), p * a, size);
    const Tensor ranks = matrix_rank(a.tensor(type()));
    for (const std::int64_t r : ranks.span<const std::int64_t>()) EXPECT_EQ(r, rank);
    EXPECT_EQ(matrix_rank(a.tensor(type()), {.atol = 1e3}).span<std::int64_t>()[0], 0);
  }
  const Batch h = hermitian(6, 9);
  expect_equal(Batch(pinv(h.tensor(type()), {.hermitian = true})), Batch(inv(h.tensor(type()))), 4);
}

TEST_P(Linalg, LeastSquares) {
  for (const LstsqDriver driver : {LstsqDriver::gels, LstsqDriver::gelsy, LstsqDriver::gelsd, LstsqDriver::gelss}) {
    const Batch a = random(9, 4), b = random(9, 2);
    const LstsqResult r = lstsq(a.tensor(type()), b.tensor(type()), {.driver = driver});
    Batch rest = a * Batch(r.x);
    for (std::size_t i = 0; i < rest.x.size(); ++i) rest.x[i] -= b.x[i];
    expect_equal(linalg::adjoint(a) * rest, Batch(kLinalgBatch, 4, 2), 16);  // the normal equations
    if (driver != LstsqDriver::gels) {
      EXPECT_EQ(r.rank.span<const std::int64_t>()[4], 4);
    }
    if (driver == LstsqDriver::gelsd) {
      double sum = 0;
      for (std::size_t k = 0; k < 9; ++k) sum += std::norm(rest.at(0, k, 1));
      EXPECT_NEAR(r.residuals.span<const double>()[1], sum, 1e-13);
      EXPECT_EQ(r.values.sizes(), (std::vector<std::int64_t>{kLinalgBatch, 4}));
    }
  }
}

TEST_P(Linalg, Exponentials) {
  // exp of [[0, -t], [t, 0]] turns by t; exp(A) exp(-A) = 1.
  Batch turn(3, 2, 2);
  for (std::size_t i = 0; i < 3; ++i) {
    const double t = std::numbers::pi * static_cast<double>(i) / 3;
    turn.at(i, 0, 1) = -t;
    turn.at(i, 1, 0) = t;
  }
  const Batch turned(matrix_exp(turn.tensor(type())));
  EXPECT_NEAR(turned.at(1, 0, 0).real(), 0.5, 1e-15);
  EXPECT_NEAR(turned.at(2, 1, 0).real(), std::sqrt(0.75), 1e-15);
  for (const std::int64_t n : {3, 20}) {
    Batch a = random(n, n);
    const Batch e(matrix_exp(a.tensor(type())));
    for (C& x : a.x) x = -x;
    expect_equal(e * Batch(matrix_exp(a.tensor(type()))), identity_batch(kLinalgBatch, a.rows), 1e4);
  }
}

// Shapes, memory, threads, errors.

Tensor doubles(std::vector<std::int64_t> sizes, const std::vector<double>& values) {
  Tensor t(DType::f64, std::move(sizes));
  std::copy(values.begin(), values.end(), t.span<double>().begin());
  return t;
}
std::vector<double> numbers(const Tensor& t) {
  return {t.span<double>().begin(), t.span<double>().end()};
}

TEST(LinalgShapes, VectorsAndBatches) {
  const Tensor a = doubles({2, 2}, {0, 2, 4, 0});
  EXPECT_EQ(numbers(solve(a, doubles({2}, {2, 8}))), (std::vector<double>{2, 1}));
  const Tensor both = solve(a, doubles({3, 2, 1}, {2, 8, 4, 4, 6, 12}));
  EXPECT_EQ(both.sizes(), (std::vector<std::int64_t>{3, 2, 1}));
  EXPECT_EQ(numbers(both), (std::vector<double>{2, 1, 1, 2, 3, 3}));
  const Tensor two = doubles({2, 2, 2}, {1, 0, 0, 1, 2, 0, 0, 2});
  EXPECT_EQ(solve(two, doubles({2, 2}, {1, 2, 4, 6})).sizes(), (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(numbers(solve(two, doubles({2, 2}, {1, 2, 4, 6}))), (std::vector<double>{1, 2, 2, 3}));
  // Every second number of [1, 9, 2, 9].
  double memory[] = {2, 9, 8, 9};
  EXPECT_EQ(numbers(solve(a, Tensor::borrow(memory, DType::f64, {2}, {2}))), (std::vector<double>{2, 1}));
  EXPECT_EQ(
      numbers(lstsq(doubles({2, 1}, {1, 1}), doubles({2}, {1, 3}), {.driver = LstsqDriver::gelsd}).residuals).size(),
      1U);
}

TEST(LinalgShapes, Empty) {
  EXPECT_EQ(cholesky(Tensor(DType::f64, {0, 3, 3})).sizes(), (std::vector<std::int64_t>{0, 3, 3}));
  EXPECT_EQ(numbers(det(Tensor(DType::f64, {2, 0, 0}))), (std::vector<double>{1, 1}));
  EXPECT_EQ(pinv(Tensor(DType::f64, {2, 0, 3})).sizes(), (std::vector<std::int64_t>{2, 3, 0}));
  EXPECT_EQ(numbers(pinv(Tensor(DType::f64, {0, 1, 3}))).size(), 0U);
  EXPECT_EQ(svd(Tensor(DType::f32, {0, 3})).vh.sizes(), (std::vector<std::int64_t>{3, 3}));
  EXPECT_EQ(matrix_rank(Tensor(DType::f32, {2, 0, 3})).span<std::int64_t>()[1], 0);
  EXPECT_EQ(solve(Tensor(DType::f64, {2, 0, 0}), Tensor(DType::f64, {2, 0, 3})).numel(), 0);
}

TEST(LinalgShapes, StridedOperandsOfEveryFunction) {
  // Transposed in memory; Tern's loops take small matrices, LAPACK large matrices.
  for (const std::int64_t n : {4, 40}) {
    Tensor dense(DType::f64, {n, n});
    std::mt19937 engine(3);
    for (double& x : dense.span<double>()) x = std::uniform_real_distribution<double>(-1, 1)(engine);
    const Tensor seen = Tensor::borrow(dense.data(), DType::f64, {n, n}, {1, n}), copy = seen.clone();
    const std::function<Tensor(const Tensor&)> functions[] = {
        [](const Tensor& a) { return lu_factor(a, {.threads = 1}).lu; },
        [](const Tensor& a) { return inv(a, {.threads = 1}); },
        [](const Tensor& a) { return qr(a, {.threads = 1}).r; },
        [](const Tensor& a) { return det(a, {.threads = 1}); },
        [](const Tensor& a) { return eigvalsh(a, {.threads = 1}); },
        [](const Tensor& a) { return svdvals(a, {.threads = 1}); },
        [](const Tensor& a) { return matrix_exp(a, {.threads = 1}); },
        [](const Tensor& a) { return pinv(a, {.threads = 1}); },
        [](const Tensor& a) { return lstsq(a, a, {.threads = 1}).x; },
        [](const Tensor& a) { return slogdet(a, {.threads = 1}).logabsdet; },
        [](const Tensor& a) { return triangular_solve(a, a, {.unitriangular = true, .threads = 1}); },
    };
    for (const auto& f : functions) {
      const std::vector<double> x = numbers(f(seen)), y = numbers(f(copy));
      double size = 1;
      for (const double v : y) size = std::max(size, std::abs(v));
      for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(x[i], y[i], 1e-9 * size);
    }
  }
}

TEST(LinalgErrors, InfoOfEachMatrix) {
  const Tensor a = doubles({3, 2, 2}, {2, 1, 1, 2, 1, 2, 2, 1, 1, 0, 0, 1}),
               singular = doubles({2, 2, 2}, {1, 1, 1, 1, 1, 2, 3, 4});
  const CholeskyResult c = cholesky_ex(a);
  EXPECT_EQ(c.info.span<const std::int32_t>()[0], 0);
  EXPECT_EQ(c.info.span<const std::int32_t>()[1], 2);
  EXPECT_EQ(c.info.span<const std::int32_t>()[2], 0);
  EXPECT_DOUBLE_EQ(c.factor.span<const double>()[3], std::sqrt(1.5));
  EXPECT_EQ(lu_factor_ex(singular).info.span<std::int32_t>()[0], 2);
  const InverseResult i = inv_ex(singular);
  EXPECT_EQ(i.info.span<const std::int32_t>()[1], 0);
  EXPECT_NEAR(i.inverse.span<const double>()[4], -2, 1e-15);
  EXPECT_EQ(solve_ex(singular, doubles({2, 2, 1}, {1, 1, 1, 1})).info.span<std::int32_t>()[0], 2);
  EXPECT_EQ(numbers(det(singular))[0], 0);
  EXPECT_EQ(numbers(slogdet(singular).logabsdet)[0], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(numbers(slogdet(singular).sign)[0], 0);
}

/// The message of the error with this code.
std::string message_of(ErrorCode code, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(LinalgErrors, SayWhatIsWrong) {
  const Tensor a = doubles({2, 2, 2}, {1, 0, 0, 1, 1, 1, 1, 1}), wide(DType::f64, {2, 3}), halves(DType::f16, {2, 2});
  const auto runtime = ErrorCode::runtime, argument = ErrorCode::invalid_argument;
  EXPECT_EQ(message_of(runtime, [&] { solve(a, a); }),
            "tern::linalg::solve: matrix 1 of the batch is singular: U[2, 2] of its LU factors is zero");
  EXPECT_EQ(message_of(runtime,
                       [&] {
                         cholesky(doubles({1, 1}, {-1}));
                       }),
            "tern::linalg::cholesky: the matrix is not positive definite: its leading minor of order 1 is not");
  const Tensor nan = doubles({1, 1}, {std::nan("")});
  message_of(runtime, [&] { svd(nan); });
  message_of(runtime, [&] { eigh(nan); });
  for (const auto& call :
       std::vector<std::function<void()>>{[&] { cholesky(wide); },
                                          [&] { solve(wide, wide); },
                                          [&] { inv(wide); },
                                          [&] { det(wide); },
                                          [&] { eigh(wide); },
                                          [&] { eig(wide); },
                                          [&] { matrix_exp(wide); },
                                          [&] { svd(halves); },
                                          [&] { solve(halves, halves); },
                                          [&] { det(Tensor()); },
                                          [&] { svd(Tensor()); },
                                          [&] { solve(a, Tensor()); },
                                          [&] { pinv(Tensor(DType::f64, {3})); },
                                          [&] {
                                            solve(a, Tensor(DType::f64, {3, 2, 2}));
                                          },
                                          [&] {
                                            solve(a, Tensor(DType::f32, {2, 2, 2}));
                                          },
                                          [&] {
                                            lstsq(wide, Tensor(DType::f64, {3, 1}));
                                          },
                                          [&] { lu_solve({}, a); },
                                          [&] { qr(wide, {.mode = static_cast<QrMode>(3)}); },
                                          [&] { triangular_solve(a, a, {.transpose = static_cast<Transpose>(9)}); },
                                          [&] { lstsq(wide, wide, {.driver = static_cast<LstsqDriver>(9)}); },
                                          [&] { qr(Tensor(DType::f64, std::vector<std::int64_t>(17, 1))); },
                                          [&] {
                                            solve(doubles({2, 2}, {1, 0, 0, 1}), doubles({2}, {1, 1}), {.left = false});
                                          }}) {
    EXPECT_EQ(message_of(argument, call).rfind("tern::linalg::", 0), 0U);
  }
}

TEST(LinalgPlans, CallsOfManyKindsInTurns) {
  // More sizes than a thread's plan cache, for several kinds of results, twice with other values.
  for (const double scale : {1.0, 3.0}) {
    for (std::int64_t n = 1; n <= 20; ++n) {
      Tensor a(DType::f64, {n, n});
      for (std::int64_t i = 0; i < n; ++i) a.span<double>()[static_cast<std::size_t>(i * n + i)] = scale;
      const double top = static_cast<double>(n) * scale;
      a.span<double>()[0] = top;
      EXPECT_NEAR(eigvalsh(a).span<double>().back(), top, 1e-12);
      EXPECT_NEAR(eigh(a).values.span<double>().back(), top, 1e-12);
      EXPECT_NEAR(std::abs(eigh(a, {.upper = true}).vectors.span<double>()[static_cast<std::size_t>(n) - 1]), 1, 1e-12);
      if (n == 1) continue;
      // Equal sizes, other strides: the 7 above the diagonal is ignored, and then lies below the diagonal.
      a.span<double>()[1] = 7 * scale;
      Tensor ones(DType::f64, {n, 1});
      ones.span<double>()[0] = top;
      EXPECT_NEAR(triangular_solve(a, ones).span<double>()[1], 0, 1e-12);
      const Tensor transposed = Tensor::borrow(a.data(), DType::f64, {n, n}, {1, n});
      EXPECT_NEAR(triangular_solve(transposed, ones).span<double>()[1], -7, 1e-12);
    }
  }
}

TEST(LinalgThreads, CallsAtOnce) {
  Tensor a(DType::f64, {300, 12, 12});
  std::mt19937 engine(5);
  for (double& x : a.span<double>()) x = std::uniform_real_distribution<double>(-1, 1)(engine);
  const std::vector<double> expected = numbers(svdvals(a, {.threads = 1}));
  std::vector<std::vector<double>> got(3);
  {
    std::vector<std::jthread> callers;
    for (auto& to : got) callers.emplace_back([&] { to = numbers(svdvals(a, {.threads = 2})); });
  }
  for (const auto& values : got) {
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(values[i], expected[i], 1e-13);
  }
}

}  // namespace
}  // namespace tern::linalg
