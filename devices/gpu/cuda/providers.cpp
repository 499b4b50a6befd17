#include "devices/gpu/cuda/providers.h"

#include "devices/gpu/cuda/cudnn.h"

namespace tern::gpu {
namespace {

constexpr Provider kVendorProviders[] = {
    {"attention", has_attention, prepare_attention, false},
    {"convolution", has_convolution, prepare_convolution},
};

}  // namespace

std::span<const Provider> vendor_providers() {
  return kVendorProviders;
}

std::string describe_vendor_libraries(const GpuDevice& d) {
  const Cudnn& library = cudnn_of(d);
  if (!library.why.empty()) return library.why;
  const std::string needs = attention_needs(d);
  return "cuDNN " + library.version + (needs.empty() ? "" : " (attention needs " + needs + ")");
}

}  // namespace tern::gpu
