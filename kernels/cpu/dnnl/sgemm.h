// oneDNN's float32 matrix product.
#pragma once

#include <cstdint>

namespace tern::dnnl_cpu {

/// Row-major c [m, n] = op(a) op(b) (+ c). Runs on the calling thread alone inside a parallel region.
void sgemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
           std::int64_t lda, const float* b, std::int64_t ldb, float* c, std::int64_t ldc, bool accumulate);

}  // namespace tern::dnnl_cpu
