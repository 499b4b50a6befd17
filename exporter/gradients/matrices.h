// Matrix algebra for the rules of linear algebra. Matrices are the last two axes.
#pragma once

#include "exporter/gradients/rule.h"
#include "exporter/lower/linalg.h"

namespace tern {

/// A product of matrices, A^H, and expressions over values of A's type.
ValueId times(Builder& b, ValueId x, ValueId y);
ValueId hermitian(Builder& b, ValueId x);
/// The diagonal alone, as matrices.
ValueId diagonal_part(Builder& b, ValueId x);
/// Lower triangle with half of the diagonal: a hermitian matrix is the sum of this triangle and its adjoint.
ValueId lower_half(Builder& b, ValueId x);
/// x + x^H, and half of x + x^H.
ValueId add_adjoint(Builder& b, ValueId x);
ValueId hermitian_part(Builder& b, ValueId x);
/// x with column j, or row i, multiplied by v[..., j] or v[..., i].
ValueId scale_columns(Builder& b, ValueId x, ValueId v);
ValueId scale_rows(Builder& b, ValueId x, ValueId v);
/// v[..., j] - v[..., i] at position i, j.
ValueId differences(Builder& b, ValueId v);
/// Sum of x and y; a missing operand (kNoValue) counts as zero.
ValueId add_optional(Builder& b, ValueId x, ValueId y);
/// Imaginary part of the diagonal as a complex diagonal matrix i * im; for complex x only.
ValueId imaginary_diagonal(Builder& b, ValueId x);

}  // namespace tern
