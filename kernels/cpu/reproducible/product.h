// A matrix product with sums in the order of docs/reproducible.md.
#pragma once

#include "kernels/cpu/products/gemm.h"

namespace tern::reproducible {

/// Computes c [m, n] (rows `ldc` apart) = a [m, k] b [k, n]: each element is a single chain of fmas from zero in the
/// order of k (AddScaled defines complex numbers). Any strides. Uses several threads, unless called from a parallel
/// region. T is a type of gemm.
template <class T>
void product(std::int64_t m, std::int64_t n, std::int64_t k, MatrixView<T> a, MatrixView<T> b, T* c, std::int64_t ldc);

}  // namespace tern::reproducible
