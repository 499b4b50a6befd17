// Solvers: the equation with the solution must reproduce the right hand side.
#include <tern/error.h>

#include "schema/linalg_kinds.h"
#include "tests/kernels/matrix.h"

namespace tern::test {
namespace {

using SolveTest = LinalgTest;
INSTANTIATE_TEST_SUITE_P(Types, SolveTest, kLinalgTypes, type_name);

/// A random matrix with a heavy diagonal, so that rounding errors stay small.
Matrix well_conditioned(std::int64_t n, bool complex, std::uint32_t seed) {
  Matrix a = random_matrix(n, n, complex, seed);
  for (std::int64_t i = 0; i < n; ++i) a.at(i, i) += static_cast<long double>(2 * n);
  // Permutes rows, so that pivoting exchanges rows.
  Matrix moved(n, n);
  for (std::int64_t r = 0; r < n; ++r) {
    for (std::int64_t c = 0; c < n; ++c) moved.at((r + 1) % n, c) = a.at(r, c);
  }
  return moved;
}

TEST_P(SolveTest, LuSolve) {
  for (const std::int64_t n : {1, 2, 9, 33}) {
    const std::vector<Matrix> batch = {well_conditioned(n, complex(), 1), well_conditioned(n, complex(), 2)};
    NodeRun factors(Op::lu_factor);
    input(factors, batch);
    factors.run();
    for (const bool left : {true, false}) {
      for (int op = 0; op < kTransposes; ++op) {
        const std::vector<Matrix> rhs = {random_matrix(left ? n : 3, left ? 3 : n, complex(), 5),
                                         random_matrix(left ? n : 3, left ? 3 : n, complex(), 6)};
        NodeRun run(Op::lu_solve);
        run.set(AttrKey::left, left);
        run.set(AttrKey::transpose, op);
        run.input(type(), {2, n, n}, factors.output(0));
        run.input(DType::i32, {2, n}, factors.output(1));
        input(run, rhs);
        run.run();
        for (std::size_t i = 0; i < batch.size(); ++i) {
          const Matrix a = apply_op(batch[i], op), x = matrix_of(run, 0, i);
          EXPECT_LT(difference(left ? a * x : x * a, rhs[i]), tolerance(n, 8)) << left << op << n;
        }
      }
    }
  }
}

TEST_P(SolveTest, LuSolveBroadcasts) {
  const std::int64_t n = 4;
  const Matrix a = well_conditioned(n, complex(), 1);
  NodeRun factors(Op::lu_factor);
  input(factors, {a});
  factors.run();
  const std::vector<Matrix> rhs = {random_matrix(n, 2, complex(), 5), random_matrix(n, 2, complex(), 6),
                                   random_matrix(n, 2, complex(), 7)};
  NodeRun run(Op::lu_solve);
  run.set(AttrKey::left, 1);
  run.input(type(), {n, n}, factors.output(0));
  run.input(DType::i32, {n}, factors.output(1));
  input(run, rhs);
  run.run();
  EXPECT_EQ(run.shape(), (std::vector<std::int64_t>{3, n, 2}));
  for (std::size_t i = 0; i < rhs.size(); ++i) EXPECT_LT(difference(a * matrix_of(run, 0, i), rhs[i]), tolerance(n, 8));
}

TEST(LuSolve, RefusesPivotsThatLeadOutside) {
  for (const double pivot : {0.0, 3.0, -1.0, 2147483647.0}) {
    NodeRun run(Op::lu_solve);
    run.set(AttrKey::left, 1);
    run.input(DType::f64, {2, 2}, std::vector<double>{1, 0, 0, 1});
    run.input(DType::i32, {2}, std::vector<double>{1, pivot});
    run.input(DType::f64, {2, 1}, std::vector<double>{1, 1});
    EXPECT_THROW(run.run(), Error);
  }
}

TEST_P(SolveTest, TriangularSolve) {
  const std::int64_t n = 11;
  for (const bool upper : {true, false}) {
    for (const bool unit : {true, false}) {
      for (const bool left : {true, false}) {
        for (int op = 0; op < kTransposes; ++op) {
          Matrix full = random_matrix(n, n, complex(), 3);
          for (Long& v : full.values) v /= 8;
          for (std::int64_t i = 0; i < n; ++i) full.at(i, i) = Long(2, complex() ? 1 : 0);
          Matrix a(n, n);
          for (std::int64_t r = 0; r < n; ++r) {
            for (std::int64_t c = 0; c < n; ++c) {
              if (upper ? c > r : c < r) a.at(r, c) = full.at(r, c);
            }
            a.at(r, r) = unit ? Long(1) : full.at(r, r);
          }
          const Matrix rhs = random_matrix(left ? n : 5, left ? 5 : n, complex(), 4);
          NodeRun run(Op::triangular_solve);
          run.set(AttrKey::upper, upper);
          run.set(AttrKey::unit, unit);
          run.set(AttrKey::left, left);
          run.set(AttrKey::transpose, op);
          input(run, {full});
          input(run, {rhs});
          run.run();
          const Matrix m = apply_op(a, op), x = matrix_of(run, 0);
          EXPECT_LT(difference(left ? m * x : x * m, rhs), tolerance(n, 8 * largest(x)));
        }
      }
    }
  }
}

TEST(TriangularSolve, ReadsStrides) {
  // The transposed view of an upper triangular matrix is lower triangular.
  NodeRun run(Op::triangular_solve);
  run.set(AttrKey::left, 1);
  run.input(DType::f64, {2, 2}, std::vector<double>{2, 0, 1, 4}, {1, 2});
  run.input(DType::f64, {2, 1}, std::vector<double>{2, 9});
  EXPECT_EQ(run.run().output(), (std::vector<Number>{1, 2}));
}

TEST_P(SolveTest, LeastSquares) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> sizes = {{7, 4}, {4, 7}, {5, 5}};
  for (const auto& [m, n] : sizes) {
    for (int driver = 0; driver < kLstsqKinds; ++driver) {
      const std::vector<Matrix> batch = {random_matrix(m, n, complex(), 1), random_matrix(m, n, complex(), 2)};
      const std::vector<Matrix> rhs = {random_matrix(m, 3, complex(), 3), random_matrix(m, 3, complex(), 4)};
      NodeRun run(Op::lstsq);
      run.set(AttrKey::mode, driver);
      run.set_number(AttrKey::epsilon, {1e-6});
      input(run, batch);
      input(run, rhs);
      run.run();
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const Matrix x = matrix_of(run, 0, i);
        const long double limit = tolerance(m * n, 30 * largest(x));
        Matrix rest = batch[i] * x;
        for (std::size_t k = 0; k < rest.values.size(); ++k) rest.values[k] -= rhs[i].values[k];
        // The residual is orthogonal to the columns of A.
        EXPECT_LT(largest(adjoint(batch[i]) * rest), limit);
        if (m < n) {  // the shortest solution x = A^H y, y = (A A^H)^-1 A x, combines rows: x^H z = 0 if A z = 0
          // Projecting x on the rows (with QR of A^H) must not change x.
          NodeRun qr(Op::qr);
          qr.set(AttrKey::mode, static_cast<int>(QrKind::reduced));
          input(qr, {adjoint(batch[i])});
          qr.run();
          const Matrix q = matrix_of(qr, 0);
          EXPECT_LT(difference(q * (adjoint(q) * x), x), limit);
        }
        const auto mode = static_cast<LstsqKind>(driver);
        if (m > n && mode != LstsqKind::gelsy) {
          for (std::int64_t c = 0; c < 3; ++c) {
            long double sum = 0;
            for (std::int64_t r = 0; r < m; ++r) sum += std::norm(rest.at(r, c));
            EXPECT_NEAR(static_cast<double>(vector_of(run, 1, i)[static_cast<std::size_t>(c)].real()),
                        static_cast<double>(sum), static_cast<double>(tolerance(m, 40)));
          }
        }
        if (mode != LstsqKind::gels) {
          EXPECT_EQ(run.output(2)[i], Number(static_cast<double>(std::min(m, n))));
        }
      }
    }
  }
}

TEST(LeastSquares, FindsTheRank) {
  for (const LstsqKind driver : {LstsqKind::gelsy, LstsqKind::gelsd, LstsqKind::gelss}) {
    NodeRun run(Op::lstsq);
    run.set(AttrKey::mode, static_cast<int>(driver));
    run.set_number(AttrKey::epsilon, {1e-10});
    run.input(DType::f64, {3, 2}, std::vector<double>{1, 2, 2, 4, 3, 6});
    run.input(DType::f64, {3, 1}, std::vector<double>{1, 2, 3});
    run.run();
    EXPECT_EQ(run.output(2), std::vector<Number>{1});
    EXPECT_NEAR(run.output(0)[0].real(), 0.2, 1e-12);  // the shortest x with x0 + 2 x1 = 1
    EXPECT_NEAR(run.output(0)[1].real(), 0.4, 1e-12);
  }
}

TEST(LeastSquares, FindsTheRankWithoutTheSolution) {
  NodeRun run(Op::lstsq);
  run.set(AttrKey::mode, static_cast<int>(LstsqKind::gelsd));
  run.set_number(AttrKey::epsilon, {1e-10});
  run.input(DType::f64, {2, 3, 2}, std::vector<double>{1, 2, 2, 4, 3, 6, 1, 0, 0, 1, 0, 0});
  run.input(DType::f64, {2, 3, 1}, std::vector<double>{1, 2, 3, 4, 5, 6});
  run.unwanted(0);
  run.run();
  EXPECT_EQ(run.output(2), (std::vector<Number>{1, 2}));
}

}  // namespace
}  // namespace tern::test
