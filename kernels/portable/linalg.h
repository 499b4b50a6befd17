// Common code of linear algebra: number types, and operands read matrix by matrix.
#pragma once

#include "kernels/portable/launches.h"

namespace tern::portable {

/// The number types used for a matrix of `t`: double if the device has double.
struct LinalgTypes {
  LinalgTypes(DType t, const Target& target);
  DType number, real;
  /// Declares W_T with its arithmetic, and R_T, the type of its parts: W_CONJ, W_REAL, W_OF(r), W_SCALE(a, r), W_SIZE
  /// (a cheap norm: LAPACK's cabs1), W_NORM2 (the square of the absolute value). W_LIFT(r) is 1, or a power of two for
  /// a positive subnormal number.
  void declare(Launch& k) const;
  std::uint64_t bytes(std::int64_t count) const;
  std::uint64_t real_bytes(std::int64_t count) const;
};

/// TERN_FAIL_AT(code, matrix, count) in the text reports a failure of a matrix.
void may_fail_of_matrix(Launch& k);

/// FINISHED(b): matrix `b` is skipped. A call may have an additional operand, `extra`: int32 for each matrix, 0 for
/// finished matrices. The kernels of a device's library leave the unfinished matrices to the portable kernel.
void declare_finished(Launch& k, const KernelCall& c, std::size_t extra);

/// Number of matrices in a tensor, with the last `core` axes as a matrix.
std::int64_t matrix_count(const TensorView& v, int core = 2);

/// at_NAME(b) is the offset of matrix (or with core 1 vector) `b` of `v`, with the batch broadcast to the batch of
/// `result`; p.NAME_row and p.NAME_column are its strides, exchanged with `transposed`.
void declare_matrix(Launch& k, const std::string& name, const TensorView& v, const TensorView& result, int core = 2,
                    int result_core = 2, bool transposed = false);

}  // namespace tern::portable
