// The emulated CUDA driver loads a library named in the image (tests/gpu/cuda/image.cpp).
#include "tests/gpu/libraries/image.h"

#include "tests/gpu/libraries/driver.h"

namespace tern::stand_in {

std::string image() {
  return std::string("// tern-emulated-library: ") + TERN_STAND_IN_KERNELS + "\n";
}

int capability() {
  constexpr int kMajor = 75, kMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, MINOR
  int major = 0;
  int minor = 0;
  driver().device_attribute(&major, kMajor, 0);
  driver().device_attribute(&minor, kMinor, 0);
  return major * 10 + minor;
}

}  // namespace tern::stand_in
