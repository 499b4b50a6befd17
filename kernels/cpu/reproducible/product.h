// A matrix product whose sums are made in the order of docs/reproducible.md.
#pragma once

#include "kernels/cpu/products/gemm.h"

namespace tern::reproducible {

/// c [m, n] (rows `ldc` apart) = a [m, k] b [k, n]: each element is one chain of fused multiply-adds from zero in the
/// order of k (AddScaled says how for complex numbers). Any strides. On several threads, unless called from a parallel
/// region. T as of gemm.
template <class T>
void product(std::int64_t m, std::int64_t n, std::int64_t k, MatrixView<T> a, MatrixView<T> b, T* c, std::int64_t ldc);

}  // namespace tern::reproducible
