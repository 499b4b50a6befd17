#include "devices/gpu/cuda/nvshmem.h"

#include "devices/gpu/libraries/shared_library.h"
#include "devices/gpu/libraries/symmetric.h"
#include "platform/environment.h"

namespace tern::gpu {
namespace {

constexpr const char* kNvshmemFiles[] = {"libnvshmem_host.so.3"};
constexpr LibraryPlaces kNvshmemPlaces = {"NVSHMEM", "TERN_NVSHMEM", kNvshmemFiles,
                                          "install nvidia-nvshmem-cu13 from PyPI"};
constexpr int kStructVersion = 3;  // version of the structs in nvshmem_api.h

/// Returns the reason for the library being unusable; empty if usable.
std::string start(Nvshmem& n, void* library, const std::string& file) {
  std::string lacks;
  const auto find = [&](const char* symbol) {
    void* found = platform::find_symbol(library, symbol);
    if (found == nullptr) lacks += (lacks.empty() ? "" : ", ") + std::string(symbol);
    return found;
  };
#define TERN_GPU_LOAD(name, symbol, result, parameters) \
  n.api.name = reinterpret_cast<decltype(n.api.name)>(find(#symbol));
  TERN_GPU_NVSHMEM_FUNCTIONS(TERN_GPU_LOAD)
#undef TERN_GPU_LOAD
#define TERN_GPU_LOAD(type, dtype) \
  n.api.sums[dtype] = reinterpret_cast<NvshmemSum>(find("nvshmemx_" #type "_sum_reduce_on_stream"));
  TERN_GPU_NVSHMEM_SUMS(TERN_GPU_LOAD)
#undef TERN_GPU_LOAD
  if (!lacks.empty()) return file + " lacks " + lacks + "; set the path of NVSHMEM's host library 3 in TERN_NVSHMEM";
  int major = 0, minor = 0, patch = 0;
  n.api.version(&major, &minor, &patch);
  n.version = std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  if (major != kStructVersion)
    return file + " is NVSHMEM " + n.version + ", but Tern needs version 3; set its path in TERN_NVSHMEM";
  return {};
}

}  // namespace

bool wants_nvshmem() {
  return platform::variable_is_on("TERN_CUDA_SHMEM", false);
}

const Nvshmem& nvshmem() {
  static const Nvshmem found = [] {
    Nvshmem n;
    open_library(
        kNvshmemPlaces, [&](void* library, const char* file) { return start(n, library, file); }, &n.why);
    return n;
  }();
  return found;
}

std::string describe_symmetric() {
  if (!wants_nvshmem()) return {};
  return nvshmem().why.empty() ? "NVSHMEM " + nvshmem().version : nvshmem().why;
}

}  // namespace tern::gpu
