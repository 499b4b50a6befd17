#include "devices/gpu/libraries/lt.h"

#include <map>

#include "devices/gpu/libraries/shared_library.h"
#include "devices/gpu/status.h"
#include "names.h"

namespace tern::gpu {
namespace {

constexpr LibraryPlaces kLtPlaces = {names::kLt, names::kLtVariable, names::kLtLibraries, names::kLtHint};

/// Returns the reason for the library being unusable on the device; empty if usable.
std::string start(Lt& lt, void* library, const char* file, const GpuDevice& d) {
  lt.path = file;
  std::string lacks;
#define TERN_GPU_LOAD(name, suffix, parameters)                                                                      \
  lt.api.name = reinterpret_cast<decltype(lt.api.name)>(platform::find_symbol(library, TERN_GPU_LT_SYMBOL(suffix))); \
  if (lt.api.name == nullptr) lacks += (lacks.empty() ? "" : ", ") + std::string(TERN_GPU_LT_SYMBOL(suffix));
  TERN_GPU_LT_FUNCTIONS(TERN_GPU_LOAD)
#undef TERN_GPU_LOAD
  if (!lacks.empty())
    return lt.path + " is too old: it lacks " + lacks + "; update " + names::kLt + ", or set another one in " +
           names::kLtVariable;
  // cuBLASLt reports its version without a device.
  lt.version = lt_version(library, nullptr);
  if (std::string why = lt_too_new(lt.version, d.driver_number); !why.empty())
    return std::string(names::kLt) + " " + lt.version.text + " (" + lt.path + ") " + why;
  if (const int error = lt.api.create(&lt.handle); error != kSuccess)
    return std::string(names::kLt) + " (" + lt.path + ") does not start on device " + std::to_string(d.id) +
           ": error " + std::to_string(error);
  if (lt.version.text.empty()) lt.version = lt_version(library, lt.handle);
  return {};
}

}  // namespace

Lt& lt(const GpuDevice& d) {
  static std::mutex mutex;
  static std::map<int, Lt> all;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = all.try_emplace(d.id);
  Lt& lt = at->second;
  if (is_new)
    open_library(
        kLtPlaces, [&](void* library, const char* file) { return start(lt, library, file, d); }, &lt.why);
  return lt;
}

tern_device_status lt_handle(Lt& lt, Stream stream, LtHandle* handle) {
  *handle = lt.handle;
  if (!names::kLtHandleKeepsMemory) return TERN_DEVICE_OK;
  const auto [at, is_new] = lt.stream_handles.try_emplace(stream, nullptr);
  if (is_new) {
    const tern_device_status status = lt_checked(lt.api.create(&at->second), "making a handle for a stream");
    if (status != TERN_DEVICE_OK) {
      lt.stream_handles.erase(at);
      return status;
    }
  }
  *handle = at->second;
  return TERN_DEVICE_OK;
}

tern_device_status lt_checked(int error, const char* call) {
  if (error == kSuccess) return TERN_DEVICE_OK;
  return failed(error == names::kLtAllocFailed ? TERN_DEVICE_OUT_OF_MEMORY : TERN_DEVICE_FAILED,
                std::string(call) + ": " + names::kLt + " error " + std::to_string(error));
}

}  // namespace tern::gpu
