// What the families of linear algebra share: the numbers they compute with, and operands read matrix by matrix.
#pragma once

#include "kernels/portable/launches.h"

namespace tern::portable {

/// The types that a matrix of `t` is worked on in: double where the device has it.
struct Numbers {
  Numbers(DType t, const Target& target);
  DType number, real;
  /// W_T with its arithmetic, and R_T, the type of its parts: W_CONJ, W_REAL, W_OF(r), W_SCALE(a, r), W_SIZE (a cheap
  /// norm: LAPACK's cabs1), W_NORM2 (the square of the absolute value). W_LIFT(r) is 1, or a power of two for a
  /// positive subnormal number.
  void declare(Launch& k) const;
  std::uint64_t bytes(std::int64_t count) const;
  std::uint64_t real_bytes(std::int64_t count) const;
};

/// TERN_FAIL_AT(code, matrix, count) in the text says what is wrong with a matrix.
void may_fail_of_matrix(Launch& k);

/// FINISHED(b): matrix `b` is left alone. A call may have an operand more than the op, `extra`: int32 for each matrix,
/// 0 for the finished ones. The kernels of a device's library leave the others to the portable kernel.
void declare_finished(Launch& k, const KernelCall& c, std::size_t extra);

/// How many matrices a tensor holds whose last `core` axes are one.
std::int64_t matrix_count(const TensorView& v, int core = 2);

/// at_NAME(b) is where matrix (or with core 1 vector) `b` of `v` begins, whose batch is broadcast to that of `result`;
/// p.NAME_row and p.NAME_column are its strides, exchanged with `transposed`.
void declare_matrix(Launch& k, const std::string& name, const TensorView& v, const TensorView& result, int core = 2,
                    int result_core = 2, bool transposed = false);

}  // namespace tern::portable
