// A build without oneDNN has no vendor kernels of products and convolutions: native kernels serve.
#include "kernels/cpu/dnnl/convolution.h"
#include "kernels/cpu/dnnl/matmul.h"

namespace tern::dnnl_cpu {

std::unique_ptr<DnnlConvolution> convolution(const DnnlConvolutionProblem&) {
  return nullptr;
}

std::unique_ptr<PackedMatmul> packed_matmul(const PackedProduct&) {
  return nullptr;
}

bool native_bf16() {
  return false;
}

bool is_built() {
  return false;
}

}  // namespace tern::dnnl_cpu
