// Sparse matrices in rows (CSR), LU factors and iterative methods, with the CPU's threads.
//
//   const tern::sparse::Csr a(n, n, starts, indices, values);                 // as scipy.sparse.csr_array has them
//   const tern::Tensor y = tern::sparse::multiply(a, x);                      // x: [n] or [n, k]
//   const auto solution = tern::sparse::cg(tern::sparse::operator_of(a), b, {.rtol = 1e-8});
//
// Types: float32, float64, complex64 or complex128, one for all operands of a call. Iterations keep vectors in float64
// or complex128; operators and preconditioners see the type of the operands.
// Memory, threads and errors: as in tern/linalg.h. A matrix keeps its tensors; do not change their elements.
#pragma once

#include <tern/api.h>
#include <tern/linalg.h>
#include <tern/tensor.h>

#include <cstdint>
#include <functional>
#include <memory>

namespace tern::sparse {

/// A matrix [rows, columns] by its elements in rows: row r has elements starts[r] .. starts[r + 1] - 1, element e the
/// column indices[e] and the number values[e]. Columns of a row have any order, and elements of one place add up.
class TERN_API Csr {
 public:
  /// `starts` [rows + 1] and `indices` [elements] of int32 or int64, `values` [elements]. Checks all indices.
  Csr(std::int64_t rows, std::int64_t columns, const Tensor& starts, const Tensor& indices, const Tensor& values);

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  const Tensor& starts() const { return starts_; }    ///< int64 [rows + 1]
  const Tensor& indices() const { return indices_; }  ///< int64 [elements]
  const Tensor& values() const { return values_; }
  DType dtype() const { return values_.dtype(); }

 private:
  std::int64_t rows_, columns_;
  Tensor starts_, indices_, values_;
};

/// Makes a matrix of elements in any order: `row_indices`, `column_indices` and `values` [elements]. Adds elements of
/// one place, and sorts the columns of each row.
TERN_API Csr from_coordinates(std::int64_t rows, std::int64_t columns, const Tensor& row_indices,
                              const Tensor& column_indices, const Tensor& values);
/// The elements other than zero of A [rows, columns].
TERN_API Csr from_dense(const Tensor& a);
TERN_API Tensor to_dense(const Csr& a);
/// The transpose, or with `conjugated` the adjoint. Columns of each row are sorted.
TERN_API Csr transpose(const Csr& a, bool conjugated = false);

struct ProductOptions {
  linalg::Transpose transpose = linalg::Transpose::none;
  int threads = 0;
};
/// op(A) X, X [n] or [n, k].
TERN_API Tensor multiply(const Csr& a, const Tensor& x, const ProductOptions& options = {});
/// A B, sparse (Gustavson, 1978). Columns of each row are sorted; elements that cancel stay.
TERN_API Csr multiply(const Csr& a, const Csr& b, const linalg::Options& options = {});

struct TriangularOptions {
  bool upper = false;          ///< A is upper triangular, not lower
  bool unitriangular = false;  ///< the diagonal counts as ones, and is not read
  linalg::Transpose transpose = linalg::Transpose::none;
};
/// X of op(A) X = B, B [n] or [n, k], with the lower or upper triangle of A [n, n]; elements of the other are ignored.
/// A zero on the diagonal is a runtime error, which names its row.
TERN_API Tensor triangular_solve(const Csr& a, const Tensor& b, const TriangularOptions& options = {});

/// LU factors of a square matrix, for many right sides, by UMFPACK of SuiteSparse (Davis, 2004), which the first use
/// loads: install Debian's libumfpack5 or Ubuntu's libumfpack6 (GPL); ErrorCode::unsupported without. Factors and
/// solutions are computed in float64 or complex128. A singular matrix is a runtime error. Several threads may solve at
/// once.
class TERN_API Factorization {
 public:
  explicit Factorization(const Csr& a);
  /// X of op(A) X = B, B [n] or [n, k], with iterative refinement.
  Tensor solve(const Tensor& b, linalg::Transpose transpose = linalg::Transpose::none) const;
  /// UMFPACK's estimate of the reciprocal condition number: smallest over largest magnitude on the diagonal of U.
  double rcond() const;

 private:
  std::shared_ptr<const struct Factors> factors_;
};

/// y = A x; x has one vector [n], or columns [n, k] in lobpcg.
using Operator = std::function<Tensor(const Tensor&)>;
TERN_API Operator operator_of(Csr a, const ProductOptions& options = {});

struct IterationOptions {
  double rtol = 1e-5;  ///< ends at |B - A X| <= max(rtol |B|, atol)
  double atol = 0;
  std::int64_t most_iterations = 0;  ///< products with A; 0: ten times the rows
  std::int64_t restart = 30;         ///< gmres: vectors that it keeps
  Operator preconditioner = {};      ///< approximates A^-1
  Tensor start = {};                 ///< first approximation; zeros if absent
};
struct IterationResult {
  Tensor x;
  std::int64_t iterations = 0;
  double residual = 0;  ///< |B - A X|
  bool converged = false;
};
/// X of A X = B [n], A hermitian and positive definite: conjugate gradients (Hestenes and Stiefel, 1952). Throws if A
/// or the preconditioner proves not to be positive definite.
TERN_API IterationResult cg(const Operator& a, const Tensor& b, const IterationOptions& options = {});
/// X of A X = B [n], any A: generalized minimal residuals with restarts (Saad and Schultz, 1986), preconditioned from
/// the right.
TERN_API IterationResult gmres(const Operator& a, const Tensor& b, const IterationOptions& options = {});

struct LobpcgOptions {
  bool largest = true;  ///< the largest eigenvalues; else the smallest
  double rtol = 0;      ///< ends at |A x - value B x| <= rtol |largest value| |x| of each vector; 0: square root of the
                        ///< type's epsilon
  std::int64_t most_iterations = 200;
  Operator b = {};               ///< hermitian and positive definite: A V = B V diag(values); absent: the identity
  Operator preconditioner = {};  ///< approximates A^-1
};
struct LobpcgResult {
  Tensor values;     ///< real [k]: falling for `largest`, else rising
  Tensor vectors;    ///< [n, k] with V^H B V = 1
  Tensor residuals;  ///< float64 [k]: |A x - value B x|
  std::int64_t iterations = 0;
  bool converged = false;
};
/// k eigenvalues of a hermitian A, from approximate vectors [n, k] (random ones serve), k <= n: Knyazev's locally
/// optimal block preconditioned conjugate gradients (2001), with an orthonormal basis.
TERN_API LobpcgResult lobpcg(const Operator& a, const Tensor& start, const LobpcgOptions& options = {});

}  // namespace tern::sparse
