#include "devices/gpu/cuda/providers.h"

#include "devices/gpu/cuda/cudnn.h"

namespace tern::gpu {
namespace {

constexpr Provider kProviders[] = {
    {"convolution", has_convolution, prepare_convolution},
};

}  // namespace

std::span<const Provider> vendor_providers() {
  return kProviders;
}

std::string describe_vendor_libraries(const GpuDevice& d) {
  const Cudnn& library = cudnn_of(d);
  return library.why.empty() ? "cuDNN " + library.version : library.why;
}

}  // namespace tern::gpu
