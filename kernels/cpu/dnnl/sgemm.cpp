#include "kernels/cpu/dnnl/sgemm.h"

#include <oneapi/dnnl/dnnl.h>
#include <tern/error.h>

namespace tern::dnnl_cpu {

void sgemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
           std::int64_t lda, const float* b, std::int64_t ldb, float* c, std::int64_t ldc, bool accumulate) {
  const dnnl_status_t status = dnnl_sgemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, 1.0F, a, lda, b,
                                          ldb, accumulate ? 1.0F : 0.0F, c, ldc);
  if (status != dnnl_success) fail(ErrorCode::internal, "the matrix product failed inside oneDNN");
}

}  // namespace tern::dnnl_cpu
