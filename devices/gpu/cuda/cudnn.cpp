#include "devices/gpu/cuda/cudnn.h"

#include <map>
#include <memory>

#include "devices/gpu/libraries/shared_library.h"
#include "devices/gpu/status.h"

namespace tern::gpu {
namespace {

constexpr const char* kCudnnFiles[] = {"libcudnn.so.9", "libcudnn.so", "/usr/local/cuda/lib64/libcudnn.so.9"};
constexpr LibraryPlaces kCudnnPlaces = {"cuDNN", "TERN_CUDNN", kCudnnFiles,
                                        "install NVIDIA's package, or from PyPI: nvidia-cudnn-cu13"};
constexpr std::size_t kFirst = 90000;  // the graph API of 9.0, in cuDNN's version numbering

std::size_t number(void* library, const char* symbol) {
  const auto get = reinterpret_cast<std::size_t (*)()>(platform::find_symbol(library, symbol));
  return get == nullptr ? 0 : get();
}

/// Returns the reason for the library being unusable on the device; empty if usable.
std::string start(Cudnn& c, void* library, const std::string& file, const GpuDevice& d) {
#define TERN_GPU_LOAD(name, suffix, parameters)                                                         \
  c.api.name = reinterpret_cast<decltype(c.api.name)>(platform::find_symbol(library, "cudnn" #suffix)); \
  if (c.api.name == nullptr) return file + " is too old: it lacks cudnn" #suffix "; update cuDNN";
  TERN_GPU_CUDNN_FUNCTIONS(TERN_GPU_LOAD)
#undef TERN_GPU_LOAD
  const std::size_t n = number(library, "cudnnGetVersion");
  c.number = n;
  c.version = std::to_string(n / 10000) + "." + std::to_string(n / 100 % 100) + "." + std::to_string(n % 100);
  const std::string title = "cuDNN " + c.version + " (" + file + ")";
  if (n < kFirst) return title + " is too old: Tern uses cuDNN 9";
  // A library built for a CUDA major version needs a driver of that version or later.
  const std::size_t cuda = number(library, "cudnnGetCudartVersion") / 1000;
  if (cuda > static_cast<std::size_t>(d.driver_number / 1000))
    return title + " needs a driver of CUDA " + std::to_string(cuda) + "; this one is of " + d.driver +
           ": update the driver, or set another cuDNN in TERN_CUDNN";
  c.plan_key = title + '\n' + d.name + '\n' + d.arch + ' ' + std::to_string(d.units) + '\n' + d.driver;
  const Status error = c.api.create(&c.handle);
  return error == kSuccess ? "" : title + " does not start: error " + std::to_string(error);
}

}  // namespace

Cudnn& cudnn_of(const GpuDevice& d) {
  static std::mutex mutex;
  // Never destroyed: nodes of static objects may outlive static objects of this library.
  static std::map<int, Cudnn>& all = *std::make_unique<std::map<int, Cudnn>>().release();
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = all.try_emplace(d.id);
  Cudnn& c = at->second;
  if (is_new)
    open_library(
        kCudnnPlaces, [&](void* library, const char* file) { return start(c, library, file, d); }, &c.why);
  return c;
}

tern_device_status checked_cudnn(Status error, const char* call) {
  if (error == kSuccess) return TERN_DEVICE_OK;
  return failed(TERN_DEVICE_FAILED, std::string(call) + ": cuDNN error " + std::to_string(error));
}

}  // namespace tern::gpu
