// Version of hipBLASLt. The library is installed together with its runtime.
#include "devices/gpu/libraries/lt.h"
#include "devices/gpu/libraries/shared_library.h"

namespace tern::gpu {

LtVersion lt_version(void* library, LtHandle handle) {
  const auto get = reinterpret_cast<Status (*)(LtHandle, int*)>(platform::find_symbol(library, "hipblasLtGetVersion"));
  int n = 0;  // major * 100,000 + minor * 100 + patch
  if (handle == nullptr || get == nullptr || get(handle, &n) != kSuccess) return {};
  return {n / 100000,
          std::to_string(n / 100000) + "." + std::to_string(n / 100 % 1000) + "." + std::to_string(n % 100)};
}

std::string lt_too_new(const LtVersion&, int) {
  return {};
}

}  // namespace tern::gpu
