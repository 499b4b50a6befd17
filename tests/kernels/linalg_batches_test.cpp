// Batches of small matrices as nodes: any batch size, including partly filled registers; transposed operands; singular
// matrices among regular matrices.
#include <tern/error.h>

#include <limits>

#include "tests/kernels/matrix.h"

namespace tern::test {
namespace {

class BatchesTest : public LinalgTest {
 protected:
  /// `transposed`: stores each matrix column by column.
  void matrices(NodeRun& run, const std::vector<Matrix>& batch, std::int64_t rows, std::int64_t columns,
                bool columns_first = false) const {
    const auto count = static_cast<std::int64_t>(batch.size());
    std::vector<std::int64_t> strides;
    if (columns_first) strides = {rows * columns, 1, rows};
    run.input(type(), {count, rows, columns}, numbers(batch), strides);
  }
  std::vector<Matrix> batch_of(std::int64_t count, std::int64_t rows, std::int64_t columns) const {
    std::vector<Matrix> all;
    for (std::int64_t i = 0; i < count; ++i) {
      all.push_back(random_matrix(rows, columns, complex(), static_cast<std::uint32_t>(i)));
      for (std::int64_t d = 0; d < std::min(rows, columns); ++d) all.back().at(d, d) += 8;
    }
    return all;
  }
};
INSTANTIATE_TEST_SUITE_P(Types, BatchesTest, kLinalgTypes, type_name);
constexpr std::int64_t kCounts[] = {0, 1, 3, 4, 5, 16, 17, 40};

TEST_P(BatchesTest, LuAndSolve) {
  for (const std::int64_t count : kCounts) {
    for (const std::int64_t n : {2, 3, 7, 16}) {
      for (const bool columns_first : {false, true}) {
        const std::vector<Matrix> a = batch_of(count, n, n);
        NodeRun factor(Op::lu_factor);
        matrices(factor, a, n, n, columns_first);
        factor.run();
        for (const bool left : {false, true}) {
          for (const int op : {0, 1, 2}) {
            const std::int64_t k = n + 33;
            const std::vector<Matrix> b = batch_of(count, left ? n : k, left ? k : n);
            NodeRun solve(Op::lu_solve);
            solve.set(AttrKey::left, left);
            solve.set(AttrKey::transpose, op);
            solve.input(type(), {count, n, n}, factor.output(0));
            solve.input(DType::i32, {count, n}, factor.output(1));
            matrices(solve, b, left ? n : k, left ? k : n);
            solve.run();
            for (std::size_t i = 0; i < a.size(); ++i) {
              const Matrix m = apply_op(a[i], op), x = matrix_of(solve, 0, i);
              ASSERT_LT(difference(left ? m * x : x * m, b[i]), tolerance(n, 8)) << count << " of order " << n;
            }
          }
        }
      }
    }
  }
}

TEST_P(BatchesTest, Triangular) {
  for (const bool upper : {false, true}) {
    for (const bool left : {false, true}) {
      for (const int op : {0, 1, 2}) {
        const std::int64_t n = 11, k = 5;
        std::vector<Matrix> a = batch_of(19, n, n), b = batch_of(19, left ? n : k, left ? k : n);
        NodeRun run(Op::triangular_solve);
        run.set(AttrKey::upper, upper);
        run.set(AttrKey::left, left);
        run.set(AttrKey::transpose, op);
        matrices(run, a, n, n);
        matrices(run, b, left ? n : k, left ? k : n);
        run.run();
        for (std::size_t i = 0; i < a.size(); ++i) {
          Matrix m = a[i];
          for (std::int64_t r = 0; r < n; ++r) {
            for (std::int64_t c = 0; c < n; ++c) m.at(r, c) = (upper ? c < r : c > r) ? 0 : m.at(r, c);
          }
          m = apply_op(m, op);
          const Matrix x = matrix_of(run, 0, i);
          ASSERT_LT(difference(left ? m * x : x * m, b[i]), tolerance(n, 8));
        }
      }
    }
  }
}

TEST_P(BatchesTest, CholeskyOfTheTriangleThatIsRead) {
  for (const std::int64_t count : kCounts) {
    for (const bool upper : {false, true}) {
      for (const std::int64_t n : {1, 3, 9}) {
        std::vector<Matrix> a = batch_of(count, n, n), given;
        for (Matrix& m : a) m = m * adjoint(m);
        for (std::size_t i = 0; i < a.size(); ++i) {
          given.push_back(a[i]);
          for (std::int64_t r = 0; r < n; ++r) {
            for (std::int64_t c = 0; c < r; ++c) {
              (upper ? given[i].at(r, c) : given[i].at(c, r)) = std::numeric_limits<double>::quiet_NaN();
            }
          }
          if (i % 3 == 1) given[i].at(n - 1, n - 1) = -1;
        }
        NodeRun run(Op::cholesky);
        run.set(AttrKey::upper, upper);
        matrices(run, given, n, n);
        run.run();
        for (std::size_t i = 0; i < a.size(); ++i) {
          ASSERT_EQ(run.output(1)[i].real(), i % 3 == 1 ? static_cast<double>(n) : 0);
          const Matrix l = matrix_of(run, 0, i);
          if (i % 3 != 1) {
            ASSERT_LT(difference(upper ? adjoint(l) * l : l * adjoint(l), a[i]), tolerance(n, 400));
          }
        }
      }
    }
  }
}

TEST_P(BatchesTest, QrInAllForms) {
  for (const std::int64_t count : kCounts) {
    for (const auto& [m, n] : std::vector<std::pair<std::int64_t, std::int64_t>>{{5, 3}, {3, 5}, {4, 4}}) {
      for (const int mode : {0, 1}) {
        const std::vector<Matrix> a = batch_of(count, m, n);
        NodeRun run(Op::qr);
        run.set(AttrKey::mode, mode);
        matrices(run, a, m, n);
        run.run();
        for (std::size_t i = 0; i < a.size(); ++i) {
          const Matrix q = matrix_of(run, 0, i), r = matrix_of(run, 1, i);
          ASSERT_LT(difference(q * r, a[i]), tolerance(m, 16));
          ASSERT_LT(difference(adjoint(q) * q, identity(q.columns)), tolerance(m));
          for (std::int64_t row = 1; row < r.rows; ++row) ASSERT_EQ(r.at(row, 0), Long(0));
          ASSERT_LT(r.at(0, 0).real(), 0);  // LAPACK's sign for a column with a positive first element
        }
      }
    }
  }
}

TEST_P(BatchesTest, EighAndSvd) {
  for (const std::int64_t count : kCounts) {
    const std::int64_t n = 5, wide = 7;
    std::vector<Matrix> a = batch_of(count, n, n);
    for (Matrix& m : a) m = m + adjoint(m);
    NodeRun eigh(Op::eigh);
    matrices(eigh, a, n, n);
    eigh.run();
    const std::vector<Matrix> b = batch_of(count, n, wide);
    NodeRun svd(Op::svd);
    svd.set(AttrKey::full, 1);
    matrices(svd, b, n, wide, true);
    svd.run();
    for (std::size_t i = 0; i < a.size(); ++i) {
      const Matrix v = matrix_of(eigh, 1, i), u = matrix_of(svd, 0, i), vh = matrix_of(svd, 2, i);
      ASSERT_LT(difference(a[i] * v, v * diagonal(vector_of(eigh, 0, i))), tolerance(n, 24));
      ASSERT_LT(difference(adjoint(v) * v, identity(n)), tolerance(n));
      Matrix sigma(n, wide);
      for (std::int64_t d = 0; d < n; ++d) sigma.at(d, d) = vector_of(svd, 1, i)[static_cast<std::size_t>(d)];
      ASSERT_LT(difference(u * sigma * vh, b[i]), tolerance(wide, 16));
      ASSERT_LT(difference(vh * adjoint(vh), identity(wide)), tolerance(wide));
    }
  }
}

TEST_P(BatchesTest, ErrorsNameTheFirstMatrix) {
  for (const Op op : {Op::eigh, Op::svd}) {
    std::vector<Matrix> a = batch_of(40, 4, 4);
    a[21].at(2, 1) = std::numeric_limits<double>::quiet_NaN();
    a[33].at(3, 3) = std::numeric_limits<double>::infinity();
    NodeRun run(op);
    matrices(run, a, 4, 4);
    try {
      run.run();
      FAIL();
    } catch (const Error& e) {  // the definitions have other words
      const std::string text = e.what();
      EXPECT_TRUE(text.find("NaN") == std::string::npos || text.find("matrix 21 of") != std::string::npos) << text;
    }
  }
  std::vector<Matrix> a = batch_of(40, 4, 4);
  a[37] = Matrix(4, 4);
  NodeRun run(Op::lu_factor);
  run.set(AttrKey::check, 1);
  matrices(run, a, 4, 4);
  EXPECT_THROW(run.run(), Error);
}

}  // namespace
}  // namespace tern::test
