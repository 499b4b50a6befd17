// Helpers and tables of the lowerings of linear algebra.
#pragma once

#include <span>
#include <utility>

#include "exporter/lower/lower.h"
#include "schema/linalg_kinds.h"

namespace tern {

std::span<const Lowering> factor_lowerings();    ///< cholesky, lu, qr, ldl and functions of the factors
std::span<const Lowering> solve_lowerings();     ///< solve, inverse, triangular, least squares
std::span<const Lowering> spectral_lowerings();  ///< eigh, eig, svd, pinv, rank, condition
std::span<const Lowering> power_lowerings();     ///< determinants, powers, exp, vander, cross
std::span<const Lowering> matrix_norm_lowerings();

/// float32 for complex64 and the like; a real type itself.
DType real_type(DType t);
double machine_epsilon(DType t);

ValueId transposed(Builder& b, ValueId x);  ///< the last two axes
ValueId adjoint(Builder& b, ValueId x);
Dims batch_of(Builder& b, ValueId x);  ///< the sizes before the last two
/// Appends `sizes` to the batch sizes.
Dims append_sizes(Dims batch, std::initializer_list<Dim> sizes);
/// Identity matrix [n, n].
ValueId identity(Builder& b, Dim n, DType t);
/// x where column - row <= offset (lower) or >= offset, else zero.
ValueId triangle(Builder& b, ValueId x, bool lower, std::int64_t offset = 0);
/// The last two axes' diagonal.
ValueId matrix_diagonal(Builder& b, ValueId x);
ValueId conj(Builder& b, ValueId x);
/// True if a size is the constant 0: nothing to compute.
bool is_empty(Builder& b, ValueId x);
/// Empty tensor, as in PyTorch.
ValueId no_result(Builder& b, DType t);

/// True if PyTorch factors A^T to solve or take the determinant, and returns the factors: real row-major matrices. Its
/// records for the backward pass rely on the choice.
bool factors_transpose(Builder& b, const Call& c);
/// LU, pivots, info.
std::vector<ValueId> lu_factor(Builder& b, ValueId a, bool check);
ValueId lu_solve(Builder& b, ValueId lu, ValueId pivots, ValueId rhs, bool left, TransposeKind op);
struct Triangle {
  bool upper = false, left = true, unit = false;
  TransposeKind op = TransposeKind::none;
};
ValueId triangular_solve(Builder& b, ValueId a, ValueId rhs, const Triangle& t);
/// Inverse, and the info of its factorization.
std::pair<ValueId, ValueId> inverse(Builder& b, ValueId a, bool check);
/// The singular values, falling.
ValueId singular_values(Builder& b, ValueId a);
std::vector<ValueId> svd(Builder& b, ValueId a, bool full);
/// Eigenvalues and eigenvectors of hermitian matrices.
std::vector<ValueId> eigh(Builder& b, ValueId a, bool upper);
/// The norm of the matrices in two axes: ord 1, -1, 2, -2, inf or -inf; or "fro" or "nuc".
ValueId matrix_norm(Builder& b, const Call& c, ValueId x, double ord, std::vector<std::int64_t> axes, bool keepdims,
                    DType result);
ValueId matrix_norm(Builder& b, const Call& c, ValueId x, std::string_view ord, std::vector<std::int64_t> axes,
                    bool keepdims, DType result);

}  // namespace tern
