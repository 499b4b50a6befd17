// Linear algebra nodes in the solvers' terms: batches of column-major matrices.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <optional>

namespace tern::gpu {

enum class Factorization { cholesky, eigh, lu, qr, svd };

/// Element types of LAPACK's routines.
enum class LapackScalar { s, d, c, z };
constexpr std::uint64_t real_bytes(LapackScalar t) {
  return t == LapackScalar::s || t == LapackScalar::c ? 4 : 8;
}
constexpr std::uint64_t component_count(LapackScalar t) {
  return t == LapackScalar::s || t == LapackScalar::d ? 1 : 2;
}
constexpr std::uint64_t element_bytes(LapackScalar t) {
  return component_count(t) * real_bytes(t);
}

/// Tern's kernels, and two vendor solvers per factorization: for many small matrices and for large matrices. Vendor
/// code defines the routines.
enum class Routine { native, small, large };

struct MatrixBatch {
  Factorization kind = Factorization::cholesky;
  LapackScalar type = LapackScalar::s;
  int rows = 0, columns = 0;
  std::int64_t count = 0;
  int max_per_call = 1;      ///< most matrices per library call
  bool upper = false;        ///< cholesky, eigh: reads the upper triangle
  bool has_vectors = false;  ///< eigh, svd: vectors; qr: Q
  bool is_full = false;      ///< svd: u and vh are square
  int q_columns = 0;         ///< qr, with Q

  [[nodiscard]] int min_side() const { return rows < columns ? rows : columns; }
  /// Columns allocated per matrix: Q may have more columns than A.
  [[nodiscard]] int room() const { return has_vectors && q_columns > columns ? q_columns : columns; }
};

/// Returns nothing for other ops and types, empty matrices, and sizes beyond LAPACK's int.
std::optional<MatrixBatch> matrices_of(const tern_device_op& op);

}  // namespace tern::gpu
