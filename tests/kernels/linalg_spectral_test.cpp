// Eigenvalues, singular values and the matrix exponential, checked by their defining equations.
#include <tern/error.h>

#include <limits>

#include "tests/kernels/matrix.h"

namespace tern::test {
namespace {

using SpectralTest = LinalgTest;
INSTANTIATE_TEST_SUITE_P(Types, SpectralTest, kLinalgTypes, type_name);

TEST_P(SpectralTest, Eigh) {
  for (const std::int64_t n : {1, 2, 3, 12, 40}) {
    for (const bool upper : {false, true}) {
      std::vector<Matrix> batch, given;
      for (std::uint32_t i = 0; i < 6; ++i) batch.push_back(random_hermitian(n, complex(), i));
      for (const Matrix& a : batch) {
        Matrix m = a;
        for (std::int64_t r = 0; r < n; ++r) {
          for (std::int64_t c = 0; c < n; ++c) {
            if (upper ? c < r : c > r) m.at(r, c) = std::numeric_limits<double>::quiet_NaN();  // never read
          }
        }
        given.push_back(m);
      }
      NodeRun run(Op::eigh);
      run.set(AttrKey::upper, upper);
      input(run, given);
      run.run();
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const std::vector<Long> w = vector_of(run, 0, i);
        const Matrix v = matrix_of(run, 1, i);
        EXPECT_LT(difference(batch[i] * v, v * diagonal(w)), tolerance(n, 8));
        EXPECT_LT(difference(adjoint(v) * v, identity(n)), tolerance(n));
        EXPECT_TRUE(std::is_sorted(w.begin(), w.end(), [](Long x, Long y) { return x.real() < y.real(); }));
      }
    }
  }
}

TEST_P(SpectralTest, Eig) {
  for (const std::int64_t n : {1, 2, 3, 12, 33}) {
    const std::vector<Matrix> batch = {random_matrix(n, n, complex(), 1), random_matrix(n, n, complex(), 2)};
    NodeRun run(Op::eig);
    input(run, batch);
    run.run();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::vector<Long> w = vector_of(run, 0, i);
      const Matrix v = matrix_of(run, 1, i);
      EXPECT_LT(difference(batch[i] * v, v * diagonal(w)), tolerance(n, 16));
      Long sum = 0, trace = 0;
      for (std::int64_t k = 0; k < n; ++k) {
        sum += w[static_cast<std::size_t>(k)];
        trace += batch[i].at(k, k);
        long double length = 0;
        for (std::int64_t r = 0; r < n; ++r) length += std::norm(v.at(r, k));
        EXPECT_NEAR(static_cast<double>(length), 1, static_cast<double>(tolerance(n)));
      }
      EXPECT_LT(std::abs(sum - trace), tolerance(n, 16));
    }
  }
}

TEST_P(SpectralTest, Svd) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> sizes = {{1, 1}, {6, 4}, {4, 6}, {5, 5}, {40, 31}, {1, 7}};
  for (const auto& [m, n] : sizes) {
    for (const bool full : {false, true}) {
      const std::vector<Matrix> batch = {random_matrix(m, n, complex(), 1), random_matrix(m, n, complex(), 2)};
      const std::int64_t k = std::min(m, n);
      NodeRun run(Op::svd);
      run.set(AttrKey::full, full);
      input(run, batch);
      run.run();
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const Matrix u = matrix_of(run, 0, i), vh = matrix_of(run, 2, i);
        const std::vector<Long> s = vector_of(run, 1, i);
        EXPECT_EQ(u.columns, full ? m : k);
        EXPECT_EQ(vh.rows, full ? n : k);
        Matrix sigma(u.columns, vh.rows);
        for (std::int64_t d = 0; d < k; ++d) sigma.at(d, d) = s[static_cast<std::size_t>(d)];
        EXPECT_LT(difference(u * sigma * vh, batch[i]), tolerance(m + n, 8));
        EXPECT_LT(difference(adjoint(u) * u, identity(u.columns)), tolerance(m));
        EXPECT_LT(difference(vh * adjoint(vh), identity(vh.rows)), tolerance(n));
        EXPECT_TRUE(std::is_sorted(s.begin(), s.end(), [](Long x, Long y) { return x.real() > y.real(); }));
        EXPECT_GE(s.back().real(), 0);
      }
    }
  }
}

TEST(Svd, OfNothingIsTheIdentity) {
  NodeRun run(Op::svd);
  run.set(AttrKey::full, 1);
  run.input(DType::f64, {2, 0}, std::vector<double>{});
  run.run();
  EXPECT_EQ(run.output(0), (std::vector<Number>{1, 0, 0, 1}));
}

/// exp by its series for a halved matrix, then squared, so that the series converges fast.
Matrix exponential(Matrix a) {
  int halvings = 0;
  for (; largest(a) * static_cast<long double>(a.rows) > 0.1L; ++halvings) {
    for (Long& v : a.values) v /= 2;
  }
  Matrix sum = identity(a.rows), term = identity(a.rows);
  for (int k = 1; k < 24; ++k) {
    term = term * a;
    for (Long& v : term.values) v /= static_cast<long double>(k);
    sum = sum + term;
  }
  while (halvings-- > 0) sum = sum * sum;
  return sum;
}

TEST_P(SpectralTest, MatrixExp) {
  for (const std::int64_t n : {1, 2, 5, 12}) {
    for (const double scale : {1e-3, 1.0, 4.0}) {
      std::vector<Matrix> batch = {random_matrix(n, n, complex(), 1), random_matrix(n, n, complex(), 2)};
      for (Matrix& m : batch) {
        // Rounds to float32, so that input and reference are equal.
        for (Long& v : m.values) {
          v = {static_cast<float>(scale * static_cast<double>(v.real())),
               static_cast<float>(scale * static_cast<double>(v.imag()))};
        }
      }
      NodeRun run(Op::matrix_exp);
      input(run, batch);
      run.run();
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const Matrix expected = exponential(batch[i]);
        EXPECT_LT(difference(matrix_of(run, 0, i), expected), tolerance(n * n, 30 * largest(expected)));
      }
    }
  }
}

TEST(MatrixExp, OfLargeNumbers) {
  NodeRun run(Op::matrix_exp);
  run.input(DType::f64, {2, 2}, std::vector<double>{-800, 0, 0, 700});
  run.run();
  EXPECT_EQ(run.output()[0].real(), 0);
  EXPECT_NEAR(run.output()[3].real() / std::exp(700.0), 1, 1e-11);
}

TEST(Spectral, RefusesWhatIsNotFinite) {
  for (const Op op : {Op::eigh, Op::eig, Op::svd}) {
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      NodeRun run(op);
      run.input(DType::f64, {2, 2, 2}, std::vector<double>{1, 0, 0, 1, 1, 0, bad, 1});
      EXPECT_THROW(run.run(), Error);
    }
  }
}

}  // namespace
}  // namespace tern::test
