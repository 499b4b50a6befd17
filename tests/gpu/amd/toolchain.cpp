#include "tests/gpu/amd/toolchain.h"

namespace tern::gpu::amd {
namespace fs = std::filesystem;

fs::path clang() {
  return TERN_AMD_CLANG;
}
fs::path device_libraries() {
  return fs::path(TERN_AMD_BUILD) / "device-libraries";
}
fs::path headers_of_hip() {
  return fs::path(TERN_AMD_BUILD) / "hip.h";
}
fs::path precompiled_headers() {
  return fs::path(TERN_AMD_BUILD) / "hip.pch";
}
fs::path runtime_bitcode() {
  return fs::path(TERN_AMD_BUILD) / "runtime.bc";
}
fs::path library_calls() {
  return fs::path(TERN_AMD_BUILD) / "libcalls.a";
}

bool known_architecture(const std::string& name) {
  if (!name.starts_with("gfx9")) return false;  // waves of 64 lanes: gfx10 and later have 32
  return fs::exists(device_libraries() / ("oclc_isa_version_" + name.substr(3) + ".bc"));
}

}  // namespace tern::gpu::amd
