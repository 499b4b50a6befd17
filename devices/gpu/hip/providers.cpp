#include "devices/gpu/hip/providers.h"

#include "devices/gpu/hip/miopen.h"

namespace tern::gpu {
namespace {

constexpr Provider kVendorProviders[] = {
    {"convolution", has_convolution, prepare_convolution},
};

}  // namespace

std::span<const Provider> vendor_providers() {
  return kVendorProviders;
}

std::string describe_vendor_libraries(const GpuDevice& d) {
  const Miopen& library = miopen_of(d);
  return library.why.empty() ? "MIOpen " + library.version : library.why;
}

}  // namespace tern::gpu
