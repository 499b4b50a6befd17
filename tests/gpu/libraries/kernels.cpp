// A library as translators of kernels make them: the emulated driver loads it.
#include "tests/gpu/libraries/kernels.h"

#include <cstdint>
#include <iterator>

#include "tests/gpu/libraries/convolution_call.h"
#include "tests/gpu/libraries/product_call.h"

namespace {

using namespace tern::stand_in;

constexpr tern_emulated_parameter kProduct[] = {{0, sizeof(ProductCall)}};
constexpr tern_emulated_parameter kConvolution[] = {{0, sizeof(ConvolutionCall)}};
constexpr tern_emulated_kernel kKernels[] = {
    {kProductKernel, sizeof(ProductCall), 1, kProduct, 0, 0, 0, product},
    {kConvolutionKernel, sizeof(ConvolutionCall), 1, kConvolution, 0, 0, 0, convolution},
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const tern_emulated_kernel* tern_emulated_kernels(
    std::uint32_t* count) {
  *count = std::size(kKernels);
  return kKernels;
}
