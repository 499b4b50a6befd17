// Residuals of tern::linalg from 1 to 512 rows, across the limit between Tern's loops and LAPACK, for difficult
// spectra: the relative error of the defining identity, in units of n rounding errors (LAPACK's own tests require less
// than 30). TERN_TEST_FULL adds 100,000 matrices of 50 rows: 2 GB.
#include <gtest/gtest.h>
#include <tern/linalg.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>

namespace tern::linalg {
namespace {

using Numbers = std::vector<double>;
constexpr double kThreshold = 30, kEpsilon = std::numeric_limits<double>::epsilon();

/// A row-major matrix.
struct LinalgSizesMatrix {
  std::size_t rows, columns;
  Numbers x;

  LinalgSizesMatrix(std::size_t r, std::size_t c) : rows(r), columns(c), x(r * c) {}
  double& at(std::size_t r, std::size_t c) { return x[r * columns + c]; }
  double at(std::size_t r, std::size_t c) const { return x[r * columns + c]; }
};
LinalgSizesMatrix matrix(const Tensor& t, std::size_t i) {
  const auto rank = t.sizes().size();
  LinalgSizesMatrix m(static_cast<std::size_t>(t.sizes()[rank - 2]), static_cast<std::size_t>(t.sizes()[rank - 1]));
  std::copy_n(t.span<const double>().begin() + static_cast<std::ptrdiff_t>(i * m.x.size()), m.x.size(), m.x.begin());
  return m;
}
LinalgSizesMatrix transposed(const LinalgSizesMatrix& a) {
  LinalgSizesMatrix y(a.columns, a.rows);
  for (std::size_t r = 0; r < a.rows; ++r) {
    for (std::size_t c = 0; c < a.columns; ++c) y.at(c, r) = a.at(r, c);
  }
  return y;
}
LinalgSizesMatrix operator*(const LinalgSizesMatrix& a, const LinalgSizesMatrix& b) {
  LinalgSizesMatrix y(a.rows, b.columns);
  for (std::size_t r = 0; r < a.rows; ++r) {
    for (std::size_t k = 0; k < a.columns; ++k) {
      const double left = a.at(r, k);
      for (std::size_t c = 0; c < b.columns; ++c) y.at(r, c) += left * b.at(k, c);
    }
  }
  return y;
}
LinalgSizesMatrix scaled_columns(LinalgSizesMatrix a, const Tensor& values, std::size_t i) {
  for (std::size_t r = 0; r < a.rows; ++r) {
    for (std::size_t c = 0; c < a.columns; ++c) a.at(r, c) *= values.span<const double>()[i * a.columns + c];
  }
  return a;
}
double norm(const Numbers& x) {
  double squares = 0;
  for (const double v : x) squares += v * v;
  return std::sqrt(squares);
}
/// |a - b| over `size`, n and a rounding error.
double relative(const LinalgSizesMatrix& a, LinalgSizesMatrix b, double size) {
  for (std::size_t i = 0; i < a.x.size(); ++i) b.x[i] -= a.x[i];
  const double error = norm(b.x);
  return error == 0 ? 0 : error / (static_cast<double>(a.rows) * kEpsilon * size);
}
double orthogonality(const LinalgSizesMatrix& q) {
  LinalgSizesMatrix one(q.columns, q.columns);
  for (std::size_t i = 0; i < q.columns; ++i) one.at(i, i) = 1;
  return relative(one, transposed(q) * q, 1);
}

enum class Spectrum { random, graded, clustered, deficient, singular };
constexpr Spectrum kSpectra[] = {Spectrum::random, Spectrum::graded, Spectrum::clustered, Spectrum::deficient,
                                 Spectrum::singular};
/// Matrices per batch. Up to 128 rows a batch fills 8 lanes (lanes/limits.h); LAPACK takes larger matrices singly.
std::size_t count_of(std::size_t n) {
  return n <= 129 ? 8 : 2;
}

/// Multiplies a by a random reflection from the left or right.
void reflect(LinalgSizesMatrix& a, bool left, std::mt19937& random) {
  std::normal_distribution<double> normal;
  LinalgSizesMatrix v(left ? 1 : a.columns, left ? a.rows : 1);
  for (double& x : v.x) x = normal(random);
  const double length = norm(v.x);
  for (double& x : v.x) x /= length;
  const LinalgSizesMatrix along = left ? v * a : a * v;
  for (std::size_t r = 0; r < a.rows; ++r) {
    for (std::size_t c = 0; c < a.columns; ++c) a.at(r, c) -= 2 * (left ? v.x[r] * along.x[c] : along.x[r] * v.x[c]);
  }
}
LinalgSizesMatrix matrix_of_spectrum(Spectrum s, std::size_t n, bool symmetric, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  LinalgSizesMatrix a(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    const double share = n == 1 ? 0 : static_cast<double>(i) / static_cast<double>(n - 1);
    switch (s) {
      case Spectrum::graded: a.at(i, i) = std::pow(kEpsilon, 2 * share); break;
      case Spectrum::clustered: a.at(i, i) = i < n / 2 ? 1 + 4 * kEpsilon * static_cast<double>(i) : 0.5; break;
      case Spectrum::deficient: a.at(i, i) = i < (n + 3) / 4 ? normal(random) : 0; break;
      case Spectrum::singular: a.at(i, i) = i == 0 ? 0 : normal(random); break;
      default: a.at(i, i) = normal(random);
    }
  }
  for (int k = 0; k < 3; ++k) {
    std::mt19937 same = random;
    reflect(a, true, random);
    reflect(a, false, symmetric ? same : random);
  }
  for (std::size_t r = 0; symmetric && r < n; ++r) {
    for (std::size_t c = 0; c < r; ++c) a.at(c, r) = a.at(r, c);
  }
  return a;
}
Tensor batch(const std::vector<LinalgSizesMatrix>& all) {
  const auto n = static_cast<std::int64_t>(all[0].rows);
  Tensor t(DType::f64, {static_cast<std::int64_t>(all.size()), n, static_cast<std::int64_t>(all[0].columns)});
  auto to = t.span<double>().begin();
  for (const LinalgSizesMatrix& m : all) to = std::copy(m.x.begin(), m.x.end(), to);
  return t;
}
std::vector<LinalgSizesMatrix> spectra(std::size_t n, bool symmetric) {
  std::vector<LinalgSizesMatrix> all;
  for (std::size_t i = 0; i < count_of(n); ++i) {
    const Spectrum s = kSpectra[(n + i) % std::size(kSpectra)];
    all.push_back(matrix_of_spectrum(s, n, symmetric, static_cast<std::uint32_t>(10 * n + i)));
  }
  return all;
}

class LinalgSizes : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Rows, LinalgSizes, ::testing::Values(1, 2, 5, 16, 33, 64, 65, 128, 129, 200, 512));

TEST_P(LinalgSizes, SpectraAndFactors) {
  const auto n = static_cast<std::size_t>(GetParam());
  const std::vector<LinalgSizesMatrix> a = spectra(n, false), h = spectra(n, true);
  const EighResult e = eigh(batch(h), {.threads = 1});
  const SvdResult s = svd(batch(a), {.threads = 1});
  const QrResult q = qr(batch(a), {.threads = 1});
  const LuResult f = lu(batch(a), {.threads = 1});
  for (std::size_t i = 0; i < count_of(n); ++i) {
    SCOPED_TRACE("matrix " + std::to_string(i));
    const LinalgSizesMatrix v = matrix(e.vectors, i), u = matrix(s.u, i), vh = matrix(s.vh, i),
                            orthonormal = matrix(q.q, i);
    EXPECT_LT(relative(h[i] * v, scaled_columns(v, e.values, i), norm(h[i].x)), kThreshold);
    EXPECT_LT(orthogonality(v), kThreshold);
    EXPECT_LT(relative(a[i], scaled_columns(u, s.s, i) * vh, norm(a[i].x)), kThreshold);
    EXPECT_LT(orthogonality(u), kThreshold);
    EXPECT_LT(orthogonality(transposed(vh)), kThreshold);
    EXPECT_LT(relative(a[i], orthonormal * matrix(q.r, i), norm(a[i].x)), kThreshold);
    EXPECT_LT(orthogonality(orthonormal), kThreshold);
    EXPECT_LT(relative(transposed(matrix(f.p, i)) * a[i], matrix(f.l, i) * matrix(f.u, i), norm(a[i].x)), kThreshold);
  }
}

TEST_P(LinalgSizes, Systems) {
  const auto n = static_cast<std::size_t>(GetParam());
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::vector<LinalgSizesMatrix> a, definite, b;
  for (std::uint32_t i = 0; i < count_of(n); ++i) {
    a.push_back(matrix_of_spectrum(i % 2 == 0 ? Spectrum::random : Spectrum::clustered, n, false, i));
    definite.push_back(a[i] * transposed(a[i]));
    for (std::size_t k = 0; k < n; ++k) definite[i].at(k, k) += 1;
    b.emplace_back(n, 40);
    for (double& x : b[i].x) x = normal(random);
  }
  const Tensor x = solve(batch(a), batch(b), {.threads = 1}), inverse = inv(batch(definite), {.threads = 1}),
               l = cholesky(batch(definite), {.threads = 1}), y = cholesky_solve(l, batch(b), {.threads = 1});
  for (std::size_t i = 0; i < count_of(n); ++i) {
    const LinalgSizesMatrix solution = matrix(x, i), factor = matrix(l, i), of_factor = matrix(y, i),
                            back = matrix(inverse, i);
    EXPECT_LT(relative(b[i], a[i] * solution, norm(a[i].x) * norm(solution.x)), kThreshold);
    EXPECT_LT(relative(b[i], definite[i] * of_factor, norm(definite[i].x) * norm(of_factor.x)), kThreshold);
    EXPECT_LT(relative(definite[i], factor * transposed(factor), norm(definite[i].x)), kThreshold);
    LinalgSizesMatrix one(n, n);
    for (std::size_t k = 0; k < n; ++k) one.at(k, k) = 1;
    EXPECT_LT(relative(one, definite[i] * back, norm(definite[i].x) * norm(back.x)), kThreshold);
  }
}

TEST(LinalgLarge, BatchOfTwoGigabytes) {
  if (std::getenv("TERN_TEST_FULL") == nullptr) GTEST_SKIP() << "TERN_TEST_FULL is not set";
  constexpr std::size_t n = 50, count = 100000;
  Tensor a(DType::f64, {count, n, n});
  std::mt19937 random(1);
  std::uniform_real_distribution<double> number(-1, 1);
  const auto x = a.span<double>();
  for (std::size_t i = 0; i < count; ++i) {
    double* m = x.data() + i * n * n;
    for (std::size_t r = 0; r < n; ++r) {
      for (std::size_t c = 0; c < r; ++c) m[r * n + c] = m[c * n + r] = number(random);
      m[r * n + r] = 2 * n + number(random);
    }
  }
  const auto each = [&](const std::function<void(std::size_t)>& check) {
    for (std::size_t i = 0; i < count; i += 9999) check(i);
  };
  {
    const Tensor l = cholesky(a);
    each([&](std::size_t i) {
      const LinalgSizesMatrix given = matrix(a, i), factor = matrix(l, i);
      EXPECT_LT(relative(given, factor * transposed(factor), norm(given.x)), kThreshold) << i;
    });
  }
  const EighResult e = eigh(a);
  each([&](std::size_t i) {
    const LinalgSizesMatrix given = matrix(a, i), v = matrix(e.vectors, i);
    EXPECT_LT(relative(given * v, scaled_columns(v, e.values, i), norm(given.x)), kThreshold) << i;
    EXPECT_LT(orthogonality(v), kThreshold) << i;
  });
}

}  // namespace
}  // namespace tern::linalg
