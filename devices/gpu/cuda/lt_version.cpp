// Version of cuBLASLt, and its required drivers.
#include "devices/gpu/libraries/lt.h"
#include "devices/gpu/libraries/shared_library.h"

namespace tern::gpu {

LtVersion lt_version(void* library, LtHandle) {
  const auto get = reinterpret_cast<std::size_t (*)()>(platform::find_symbol(library, "cublasLtGetVersion"));
  if (get == nullptr) return {};
  const int n = static_cast<int>(get());  // major * 10,000 + minor * 100 + patch
  return {n / 10000, std::to_string(n / 10000) + "." + std::to_string(n / 100 % 100) + "." + std::to_string(n % 100)};
}

// "CUDA compatibility", NVIDIA: a library of a major version runs on drivers of that version or later.
std::string lt_too_new(const LtVersion& version, int driver_number) {
  const int driver = driver_number / 1000;
  if (version.major <= driver) return {};
  return "needs a driver of CUDA " + std::to_string(version.major) + "; this one is of CUDA " + std::to_string(driver) +
         ": update the driver, or name cuBLASLt " + std::to_string(driver) + " by " + names::kLtVariable;
}

}  // namespace tern::gpu
