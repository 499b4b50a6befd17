// Tern uses no library of ROCm that CUDA has no equal of.
#include "devices/gpu/libraries/provider.h"

namespace tern::gpu {

std::span<const Provider> vendor_providers() {
  return {};
}

std::string describe_vendor_libraries(const GpuDevice&) {
  return {};
}

}  // namespace tern::gpu
