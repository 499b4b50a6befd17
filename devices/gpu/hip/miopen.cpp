#include "devices/gpu/hip/miopen.h"

#include <map>
#include <memory>

#include "devices/gpu/libraries/shared_library.h"
#include "devices/gpu/status.h"

namespace tern::gpu {
namespace {

constexpr const char* kMiopenFiles[] = {"libMIOpen.so.1", "libMIOpen.so", "/opt/rocm/lib/libMIOpen.so"};
constexpr LibraryPlaces kMiopenPlaces = {"MIOpen", "TERN_MIOPEN", kMiopenFiles,
                                         "install the package miopen-hip of ROCm"};
constexpr std::size_t kFirstMajor = 2;  // first version with immediate mode

/// Returns the reason for the library being unusable on the device; empty if usable.
std::string start(Miopen& m, void* library, const std::string& file) {
#define TERN_GPU_LOAD(name, suffix, parameters)                                                          \
  m.api.name = reinterpret_cast<decltype(m.api.name)>(platform::find_symbol(library, "miopen" #suffix)); \
  if (m.api.name == nullptr) return file + " is too old: it lacks miopen" #suffix "; update MIOpen";
  TERN_GPU_MIOPEN_FUNCTIONS(TERN_GPU_LOAD)
#undef TERN_GPU_LOAD
  std::size_t major = 0, minor = 0, patch = 0;
  m.api.version(&major, &minor, &patch);
  m.version = std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  const std::string title = "MIOpen " + m.version + " (" + file + ")";
  if (major < kFirstMajor) return title + " is too old: Tern uses MIOpen 2 and later";
  const Status error = m.api.create(&m.handle);
  return error == kSuccess ? "" : title + " does not start: error " + std::to_string(error);
}

}  // namespace

Miopen& miopen_of(const GpuDevice& d) {
  static std::mutex mutex;
  // Never destroyed: nodes of static objects may outlive static objects of this library.
  static std::map<int, Miopen>& all = *std::make_unique<std::map<int, Miopen>>().release();
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = all.try_emplace(d.id);
  Miopen& m = at->second;
  if (is_new)
    open_library(
        kMiopenPlaces, [&](void* library, const char* file) { return start(m, library, file); }, &m.why);
  return m;
}

tern_device_status miopen_checked(int error, const char* call) {
  if (error == kSuccess) return TERN_DEVICE_OK;
  return failed(error == miopen::kAllocFailed ? TERN_DEVICE_OUT_OF_MEMORY : TERN_DEVICE_FAILED,
                std::string(call) + ": MIOpen error " + std::to_string(error));
}

}  // namespace tern::gpu
