#include "tests/gpu/hip/settings.h"

#include <cstdio>
#include <cstdlib>

namespace tern::gpu::hip {

std::string architecture() {
  const char* name = std::getenv("TERN_EMULATOR_HIP_ARCHITECTURE");
  return name == nullptr || *name == 0 ? "gfx942" : name;
}

Version version() {
  Version result{7, 2, 0};
  const char* text = std::getenv("TERN_EMULATOR_HIP_VERSION");
  if (text == nullptr || *text == 0) return result;
  if (std::sscanf(text, "%d.%d.%d", &result.major, &result.minor, &result.patch) < 2) {
    std::fprintf(stderr, "emulated GPU: TERN_EMULATOR_HIP_VERSION is '%s'; it has to be like 7.2\n", text);
    std::abort();
  }
  return result;
}

}  // namespace tern::gpu::hip
