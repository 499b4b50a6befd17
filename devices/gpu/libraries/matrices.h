// Nodes of linear algebra as the vendors' solvers see them: batches of column-major matrices.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <optional>

namespace tern::gpu {

enum class Factorization { cholesky, eigh, lu, qr, svd };

/// Element types of LAPACK's routines.
enum class Scalar { s, d, c, z };
constexpr std::uint64_t real_bytes(Scalar t) {
  return t == Scalar::s || t == Scalar::c ? 4 : 8;
}
constexpr std::uint64_t parts(Scalar t) {
  return t == Scalar::s || t == Scalar::d ? 1 : 2;
}
constexpr std::uint64_t element_bytes(Scalar t) {
  return parts(t) * real_bytes(t);
}

/// Tern's kernels, and two solvers of the vendor for each factorization: one for many small matrices and one for large
/// ones. Which routines they are, each vendor says.
enum class Routine { own, small, large };

struct MatrixBatch {
  Factorization kind = Factorization::cholesky;
  Scalar type = Scalar::s;
  int rows = 0, columns = 0;
  std::int64_t count = 0;
  int at_once = 1;           ///< the most that one call of the library gets
  bool upper = false;        ///< cholesky, eigh: the triangle that is read
  bool has_vectors = false;  ///< eigh, svd; qr: Q is wanted
  bool is_full = false;      ///< svd: u and vh are square
  int q_columns = 0;         ///< qr, with Q

  [[nodiscard]] int least() const { return rows < columns ? rows : columns; }
  /// Columns that each matrix has room for: Q may have more than A.
  [[nodiscard]] int room() const { return has_vectors && q_columns > columns ? q_columns : columns; }
};

/// Nothing for other ops and types, empty matrices, and such as LAPACK's int cannot count.
std::optional<MatrixBatch> matrices_of(const tern_device_op& op);

}  // namespace tern::gpu
