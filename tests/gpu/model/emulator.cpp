#include "tests/gpu/model/emulator.h"

#include <dlfcn.h>
#include <tern/error.h>

#include <string>

namespace tern::gpu_model {

Emulator::Emulator() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);  // stays open for the plugin
  const auto find = [&](const char* name) {
    void* function = library == nullptr ? nullptr : dlsym(library, name);
    if (function == nullptr)
      fail(ErrorCode::unsupported,
           "libcuda.so.1 is not the emulated driver: run this by 'tests/scripts/device.sh cuda', after './dev build'");
    return function;
  };
  count_ = reinterpret_cast<decltype(count_)>(find("tern_emulator_count"));
  tag_ = reinterpret_cast<decltype(tag_)>(find("tern_emulator_tag"));
  take_ = reinterpret_cast<decltype(take_)>(find("tern_emulator_take"));
  figures_ = reinterpret_cast<decltype(figures_)>(find("tern_emulator_counters"));
}

}  // namespace tern::gpu_model
