#include "devices/gpu/libraries/nccl.h"

#include "devices/gpu/libraries/shared_library.h"
#include "nccl_names.h"

namespace tern::gpu {
namespace {

constexpr LibraryPlaces kNcclPlaces = {names::kNccl, names::kNcclVariable, names::kNcclLibraries, names::kNcclHint};

std::string version_text(int code) {
  return std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." + std::to_string(code % 100);
}

/// Returns the reason for the library being unusable; empty if usable.
std::string start(Nccl& n, void* library, const std::string& file) {
  std::string lacks;
#define TERN_GPU_LOAD(name, symbol, parameters)                                                        \
  n.api.name = reinterpret_cast<decltype(n.api.name)>(platform::find_symbol(library, "nccl" #symbol)); \
  if (n.api.name == nullptr) lacks += (lacks.empty() ? "" : ", ") + std::string("nccl" #symbol);
  TERN_GPU_NCCL_FUNCTIONS(TERN_GPU_LOAD)
#undef TERN_GPU_LOAD
  n.api.text = reinterpret_cast<decltype(n.api.text)>(platform::find_symbol(library, "ncclGetErrorString"));
  if (!lacks.empty() || n.api.text == nullptr)
    return file + " is too old: it lacks " + (lacks.empty() ? "ncclGetErrorString" : lacks) + "; update " +
           names::kNccl + ", or set another one in " + names::kNcclVariable;
  int code = 0;
  if (n.api.version(&code) != kNcclSuccess) return file + " does not report its version";
  n.version = version_text(code);
  return {};
}

}  // namespace

const Nccl& nccl() {
  static const Nccl found = [] {
    Nccl n;
    open_library(
        kNcclPlaces, [&](void* library, const char* file) { return start(n, library, file); }, &n.why);
    return n;
  }();
  return found;
}

std::string describe_collectives() {
  return nccl().why.empty() ? std::string(names::kNccl) + " " + nccl().version : nccl().why;
}

}  // namespace tern::gpu
