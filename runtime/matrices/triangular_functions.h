// Square root and logarithm of an upper triangular matrix, principal branches.
#pragma once

#include "runtime/matrices/matrix.h"

namespace tern::matrices {

/// Overwrites T by its square root (Bjorck and Hammarling, 1983). Returns false if T has none.
bool to_square_root(MatrixRef<Complex> t);
/// Overwrites T by its logarithm: inverse scaling and squaring with Pade approximants in partial fractions, and
/// diagonals of higher accuracy (Al-Mohy and Higham, 2012). Returns false for singular T.
bool to_logarithm(MatrixRef<Complex> t);

}  // namespace tern::matrices
