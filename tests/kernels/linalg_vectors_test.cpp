// Eigenvectors and singular vectors of matrices too large for lanes: residuals and orthonormality.
#include "tests/kernels/matrix.h"

namespace tern::test {
namespace {

using VectorsTest = LinalgTest;
INSTANTIATE_TEST_SUITE_P(Types, VectorsTest, kLinalgTypes, type_name);

/// Powers of two: 1, and two magnitudes that make LAPACK scale the matrix.
std::vector<long double> scales(DType real) {
  const long double far = real == DType::f32 ? 0x1p100L : 0x1p900L;
  return {1, far, 1 / far};
}
Matrix times(Matrix a, long double by) {
  for (Long& x : a.values) x *= by;
  return a;
}
Matrix scaled_columns(Matrix a, const std::vector<Long>& by) {
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t c = 0; c < a.columns; ++c) a.at(r, c) *= by[static_cast<std::size_t>(c)];
  }
  return a;
}

TEST_P(VectorsTest, Eigenvectors) {
  for (const std::int64_t n : {40, 80}) {
    for (const bool upper : {false, true}) {
      for (const long double scale : n == 40 ? scales(real_type()) : std::vector<long double>{1}) {
        const Matrix a = random_hermitian(n, complex(), 3), given = times(a, scale);
        Matrix read = given;  // the other triangle is ignored
        for (std::int64_t r = 0; r < n; ++r) {
          for (std::int64_t c = 0; c < n; ++c) {
            if (upper ? c < r : c > r) read.at(r, c) = std::numeric_limits<double>::quiet_NaN();
          }
        }
        NodeRun run(Op::eigh);
        run.set(AttrKey::upper, upper);
        input(run, {read});
        run.run();
        const Matrix v = matrix_of(run, 1);
        std::vector<Long> values = vector_of(run, 0);
        for (Long& x : values) x /= scale;
        EXPECT_TRUE(std::ranges::is_sorted(values, {}, [](const Long& x) { return x.real(); }));
        EXPECT_LT(difference(a * v, scaled_columns(v, values)), tolerance(n, 4)) << n << upper << scale;
        EXPECT_LT(difference(adjoint(v) * v, identity(n)), tolerance(n)) << n << upper << scale;
      }
    }
  }
}

TEST_P(VectorsTest, SingularVectors) {
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{63, 63}, {64, 64}, {90, 90}, {64, 70}}) {
    for (const long double scale : m == 64 ? scales(real_type()) : std::vector<long double>{1}) {
      const Matrix a = random_matrix(m, n, complex(), 4);
      NodeRun run(Op::svd);
      input(run, {times(a, scale)});
      run.run();
      const Matrix u = matrix_of(run, 0), v = adjoint(matrix_of(run, 2));
      std::vector<Long> values = vector_of(run, 1);
      for (Long& x : values) x /= scale;
      EXPECT_TRUE(std::ranges::is_sorted(values, std::greater(), [](const Long& x) { return x.real(); }));
      EXPECT_LT(difference(a * v, scaled_columns(u, values)), tolerance(n, 4)) << m << scale;
      EXPECT_LT(difference(adjoint(u) * u, identity(u.columns)), tolerance(n)) << m << scale;
      EXPECT_LT(difference(adjoint(v) * v, identity(v.columns)), tolerance(n)) << m << scale;
    }
  }
}

}  // namespace
}  // namespace tern::test
