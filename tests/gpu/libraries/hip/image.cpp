// The emulated HIP runtime loads code objects of its architecture (tests/gpu/hip/code_object.h).
#include "tests/gpu/libraries/image.h"

#include <fstream>
#include <sstream>

#include "tests/gpu/hip/code_object.h"
#include "tests/gpu/hip/settings.h"

namespace tern::stand_in {

std::string image() {
  std::ostringstream bytes;
  bytes << std::ifstream(TERN_STAND_IN_KERNELS, std::ios::binary).rdbuf();
  return gpu::hip::code_object(gpu::hip::architecture(), bytes.str());
}

int capability() {
  return 0;
}

}  // namespace tern::stand_in
