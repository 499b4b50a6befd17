// Shared by linear algebra rules: operands that are batches of matrices.
#pragma once

#include <initializer_list>

#include "schema/infer.h"

namespace tern {

/// LAPACK counts in 32 bits, including workspace sizes of several times the matrix.
inline constexpr std::int64_t kMaxMatrix = (std::int64_t{1} << 24) - 1;

/// A tensor of matrices, [..., rows, columns].
struct Matrices {
  DType dtype = DType::invalid;
  Dims batch;
  Dim rows, columns;
};
/// Operand i as matrices of float32, float64, complex64 or complex128.
Matrices matrices(const Inference& c, std::size_t i);
/// Operand i as square matrices of these types.
Matrices square_matrices(const Inference& c, std::size_t i);
/// `batch` followed by these sizes.
Dims shape_of(Dims batch, std::initializer_list<Dim> sizes);
void require_same_type(const Inference& c, std::size_t a, std::size_t b);
/// float32 for complex64, float64 for complex128, else the type itself.
DType real_part(DType t);
/// complex64 for float32, complex128 for float64, else the type itself.
DType complex_of(DType t);

}  // namespace tern
