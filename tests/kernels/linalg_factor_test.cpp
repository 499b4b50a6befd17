// Factorizations: products of the factors must reproduce the matrix, and the factors must have their form.
#include <tern/error.h>

#include "schema/linalg_kinds.h"
#include "tests/kernels/matrix.h"

namespace tern::test {
namespace {

using FactorTest = LinalgTest;
INSTANTIATE_TEST_SUITE_P(Types, FactorTest, kLinalgTypes, type_name);

void expect_triangular(const Matrix& m, bool upper) {
  for (std::int64_t r = 0; r < m.rows; ++r) {
    for (std::int64_t c = 0; c < m.columns; ++c) {
      if (upper ? c < r : c > r) {
        EXPECT_EQ(m.at(r, c), Long(0)) << r << ", " << c;
      }
    }
  }
}

std::vector<Matrix> positive(std::int64_t n, bool complex) {
  std::vector<Matrix> batch;
  for (std::uint32_t i = 0; i < 5; ++i) {
    const Matrix a = random_matrix(n, n, complex, 10 + i);
    batch.push_back(a * adjoint(a) + identity(n));
  }
  return batch;
}

TEST_P(FactorTest, Cholesky) {
  for (const std::int64_t n : {1, 2, 7, 40}) {
    for (const bool upper : {false, true}) {
      std::vector<Matrix> given = positive(n, complex());
      const std::vector<Matrix> whole = given;
      for (Matrix& m : given) {  // the other triangle must not matter
        for (std::int64_t r = 0; r < n; ++r) {
          for (std::int64_t c = 0; c < n; ++c) {
            if (upper ? c < r : c > r) m.at(r, c) = 77;
          }
        }
      }
      NodeRun run(Op::cholesky);
      run.set(AttrKey::upper, upper);
      input(run, given);
      run.run();
      for (std::size_t i = 0; i < given.size(); ++i) {
        const Matrix l = matrix_of(run, 0, i);
        expect_triangular(l, upper);
        EXPECT_LT(difference(upper ? adjoint(l) * l : l * adjoint(l), whole[i]), tolerance(n, largest(whole[i])));
        EXPECT_EQ(run.output(1)[i], Number(0));
      }
    }
  }
}

TEST_P(FactorTest, CholeskyOfAnIndefiniteMatrix) {
  std::vector<Matrix> batch = positive(3, complex());
  batch[2] = identity(3);
  batch[2].at(1, 1) = -1;
  NodeRun reports(Op::cholesky);
  input(reports, batch);
  reports.run();
  EXPECT_EQ(reports.output(1), (std::vector<Number>{0, 0, 2, 0, 0}));
  NodeRun fails(Op::cholesky);
  fails.set(AttrKey::check, 1);
  input(fails, batch);
  try {
    fails.run();
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::runtime);
    EXPECT_NE(std::string(e.what()).find("matrix 2"), std::string::npos) << e.what();
  }
}

TEST_P(FactorTest, Qr) {
  for (const auto& [m, n] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {6, 4}, {4, 6}, {5, 5}, {40, 33}}) {
    const std::vector<Matrix> batch = {random_matrix(m, n, complex(), 1), random_matrix(m, n, complex(), 2)};
    for (const QrKind mode : {QrKind::reduced, QrKind::complete, QrKind::r}) {
      NodeRun run(Op::qr);
      run.set(AttrKey::mode, static_cast<int>(mode));
      input(run, batch);
      run.run();
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const Matrix r = matrix_of(run, 1, i);
        expect_triangular(r, true);
        EXPECT_EQ(r.rows, mode == QrKind::complete ? m : std::min(m, n));
        if (mode == QrKind::r) {  // R^H R = A^H A whatever Q is
          EXPECT_LT(difference(adjoint(r) * r, adjoint(batch[i]) * batch[i]), tolerance(m * n, 4));
          continue;
        }
        const Matrix q = matrix_of(run, 0, i);
        EXPECT_LT(difference(q * r, batch[i]), tolerance(m + n, 4));
        EXPECT_LT(difference(adjoint(q) * q, identity(q.columns)), tolerance(m));
      }
    }
  }
}

TEST_P(FactorTest, HouseholderReflections) {
  const std::int64_t m = 9, n = 5;
  const std::vector<Matrix> batch = {random_matrix(m, n, complex(), 1), random_matrix(m, n, complex(), 2)};
  NodeRun factors(Op::qr);
  factors.set(AttrKey::mode, static_cast<int>(QrKind::reflectors));
  input(factors, batch);
  factors.run();
  // Q from its definition: the product of 1 - tau v v^H.
  std::vector<Matrix> whole;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Matrix v = matrix_of(factors, 0, i);
    const std::vector<Long> tau = vector_of(factors, 1, i);
    Matrix q = identity(m);
    for (std::int64_t k = 0; k < n; ++k) {
      Matrix w(m, 1);
      w.at(k, 0) = 1;
      for (std::int64_t r = k + 1; r < m; ++r) w.at(r, 0) = v.at(r, k);
      Matrix h = w * adjoint(w);
      for (Long& x : h.values) x *= -tau[static_cast<std::size_t>(k)];
      q = q * (identity(m) + h);
    }
    whole.push_back(q);
  }
  NodeRun products(Op::householder);
  products.set(AttrKey::kind, static_cast<int>(HouseholderKind::product));
  products.input(type(), {2, m, n}, factors.output(0));
  products.input(type(), {2, n}, factors.output(1));
  products.run();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    Matrix first(m, n);
    for (std::int64_t r = 0; r < m; ++r) {
      for (std::int64_t c = 0; c < n; ++c) first.at(r, c) = whole[i].at(r, c);
    }
    EXPECT_LT(difference(matrix_of(products, 0, i), first), tolerance(m));
  }
  for (const bool left : {false, true}) {
    for (const TransposeKind op : {TransposeKind::none, TransposeKind::adjoint}) {
      const std::vector<Matrix> others = {random_matrix(left ? m : 3, left ? 3 : m, complex(), 5),
                                          random_matrix(left ? m : 3, left ? 3 : m, complex(), 6)};
      NodeRun run(Op::householder);
      run.set(AttrKey::kind, static_cast<int>(HouseholderKind::multiply));
      run.set(AttrKey::left, left);
      run.set(AttrKey::transpose, static_cast<int>(op));
      run.input(type(), {2, m, n}, factors.output(0));
      run.input(type(), {2, n}, factors.output(1));
      input(run, others);
      run.run();
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const Matrix q = apply_op(whole[i], static_cast<int>(op));
        EXPECT_LT(difference(matrix_of(run, 0, i), left ? q * others[i] : others[i] * q), tolerance(m, 8));
      }
    }
  }
}

TEST_P(FactorTest, Lu) {
  for (const auto& [m, n] : std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {6, 4}, {4, 6}, {30, 30}}) {
    const std::vector<Matrix> batch = {random_matrix(m, n, complex(), 1), random_matrix(m, n, complex(), 2)};
    NodeRun run(Op::lu_factor);
    input(run, batch);
    run.run();
    const std::int64_t k = std::min(m, n);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Matrix lu = matrix_of(run, 0, i);
      Matrix lower(m, k), upper(k, n);
      for (std::int64_t r = 0; r < m; ++r) {
        for (std::int64_t c = 0; c < n; ++c) {
          if (c >= r) upper.at(r, c) = lu.at(r, c);
          if (c < r) lower.at(r, c) = lu.at(r, c);
        }
      }
      for (std::int64_t d = 0; d < k; ++d) lower.at(d, d) = 1;
      Matrix swapped = batch[i];
      for (std::int64_t d = 0; d < k; ++d) {
        const auto p = static_cast<std::int64_t>(
                           run.output(1)[i * static_cast<std::size_t>(k) + static_cast<std::size_t>(d)].real()) -
                       1;
        for (std::int64_t c = 0; c < n; ++c) std::swap(swapped.at(d, c), swapped.at(p, c));
      }
      EXPECT_LT(difference(lower * upper, swapped), tolerance(m + n, 4));
    }
  }
}

TEST_P(FactorTest, LuOfASingularMatrix) {
  Matrix a = identity(3);
  a.at(1, 1) = 0;
  NodeRun reports(Op::lu_factor);
  input(reports, {a});
  EXPECT_EQ(reports.run().output(2), std::vector<Number>{2});
  NodeRun fails(Op::lu_factor);
  fails.set(AttrKey::check, 1);
  input(fails, {a});
  EXPECT_THROW(fails.run(), Error);
}

TEST_P(FactorTest, Ldl) {
  for (const std::int64_t n : {1, 2, 8, 31}) {
    for (const bool hermitian : {false, true}) {
      std::vector<Matrix> batch;
      for (std::uint32_t i = 0; i < 3; ++i) {
        Matrix a = random_matrix(n, n, complex(), 20 + i);
        a = a + (hermitian ? adjoint(a) : transposed(a));
        if (i == 1) {  // needs blocks of 2 x 2
          for (std::int64_t d = 0; d < n; ++d) a.at(d, d) = n == 1 ? 3 : 0;
        }
        batch.push_back(a);
      }
      NodeRun factors(Op::ldl_factor);
      factors.set(AttrKey::hermitian, hermitian);
      input(factors, batch);
      factors.run();
      const std::vector<Matrix> rhs = {random_matrix(n, 2, complex(), 30)};
      NodeRun solved(Op::ldl_solve);
      solved.set(AttrKey::hermitian, hermitian);
      solved.input(type(), {3, n, n}, factors.output(0));
      solved.input(DType::i32, {3, n}, factors.output(1));
      input(solved, rhs);  // a single right hand side for all
      solved.run();
      for (std::size_t i = 0; i < batch.size(); ++i) {
        expect_triangular(matrix_of(factors, 0, i), false);
        const Matrix x = matrix_of(solved, 0, i);
        EXPECT_LT(difference(batch[i] * x, rhs[0]), tolerance(n, 40 * largest(x) * n));
      }
    }
  }
}

TEST(LdlSolve, RefusesPivotsThatLeadOutside) {
  for (const std::vector<double>& pivots : {std::vector<double>{1, -2}, {1, 5}, {0, 1}, {-1, -2}, {-2147483648.0, 1}}) {
    NodeRun run(Op::ldl_solve);
    run.input(DType::f64, {2, 2}, std::vector<double>{1, 0, 0, 1});
    run.input(DType::i32, {2}, pivots);
    run.input(DType::f64, {2, 1}, std::vector<double>{1, 1});
    EXPECT_THROW(run.run(), Error);
  }
}

}  // namespace
}  // namespace tern::test
