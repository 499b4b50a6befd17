// A library in the format of the kernel translators, loaded by the emulated driver.
#include "tests/gpu/libraries/kernels.h"

#include <cstdint>
#include <cstring>
#include <iterator>

#include "tests/gpu/libraries/attention_call.h"
#include "tests/gpu/libraries/convolution_call.h"
#include "tests/gpu/libraries/nccl/call.h"
#include "tests/gpu/libraries/product_call.h"
#include "tests/gpu/libraries/solvers/call.h"

namespace {

using namespace tern::stand_in;

constexpr tern_emulated_parameter kProduct[] = {{0, sizeof(ProductCall)}};
constexpr tern_emulated_parameter kAttention[] = {{0, sizeof(AttentionCall)}};
constexpr tern_emulated_parameter kConvolution[] = {{0, sizeof(ConvolutionCall)}};
constexpr tern_emulated_parameter kCollective[] = {{0, sizeof(CollectiveCall)}};
#ifdef TERN_STAND_IN_SOLVERS
constexpr tern_emulated_parameter kSolver[] = {{0, sizeof(SolverCall)}};
#endif
constexpr tern_emulated_kernel kKernels[] = {
    {kProductKernel, sizeof(ProductCall), 1, kProduct, 0, 0, 0, product},
    {kConvolutionKernel, sizeof(ConvolutionCall), 1, kConvolution, 0, 0, 0, convolution},
    {kAttentionKernel, sizeof(AttentionCall), 1, kAttention, 0, 0, 0, attention},
    {kCollectiveKernel, sizeof(CollectiveCall), 1, kCollective, 0, 0, 0, collective},
#ifdef TERN_STAND_IN_SOLVERS
    {kSolverKernel, sizeof(SolverCall), 1, kSolver, 0, 0, 0, solver},
#endif
};

}  // namespace

/// Calls back into the library, whose calls own their data.
void tern::stand_in::collective(const tern_emulated_launch* launch) {
  CollectiveCall call{};
  std::memcpy(&call, launch->parameters, sizeof call);
  call.function(call.context);
}

extern "C" __attribute__((visibility("default"))) const tern_emulated_kernel* tern_emulated_kernels(
    std::uint32_t* count) {
  *count = std::size(kKernels);
  return kKernels;
}
