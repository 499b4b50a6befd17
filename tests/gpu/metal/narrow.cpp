// The plugin `narrow`: the device of examples/device without float64, a reference for the bits of emulated Metal in
// another compiler's language. (The CPU computes in float64 where such devices use float32.) Compiled kernels are
// cached, like the emulated GPUs' kernels.
#include <tern/device.h>

#define tern_device_library tern_example_device_library
#include "examples/device/device.cpp"  // NOLINT(bugprone-suspicious-include)
#undef tern_device_library

#include <exception>

#include "tests/gpu/compile_c.h"

namespace {

tern_device_status narrow_properties(std::int32_t device, tern_device_properties* p) {
  const tern_device_status status = device_properties(device, p);
  p->features = TERN_DEVICE_HOST_MEMORY;
  p->vector_floats = 0;  // kernel sources depend on the value: same as on a GPU
  return status;
}

tern_device_status narrow_module_load(std::int32_t, const tern_device_source* source, tern_device_module* module) {
  tern::emulated::CompileOptions options;
  options.language = tern::emulated::Language::cpp;
  void* library = nullptr;
  try {
    library = dlopen(compile_c(std::string(source->text, source->length), options).c_str(), RTLD_NOW | RTLD_LOCAL);
  } catch (const std::exception& error) {
    return set_error(TERN_DEVICE_COMPILE, error.what());
  }
  if (library == nullptr) return set_error(TERN_DEVICE_FAILED, dlerror());
  *module = new tern_device_module_s{library, {}};
  return TERN_DEVICE_OK;
}

const tern_device_plugin* narrow() {
  static const tern_device_plugin made = [] {
    tern_device_plugin p = *tern_example_device_library();
    p.name = "narrow";
    p.properties = narrow_properties;
    p.module_load = narrow_module_load;
    return p;
  }();
  return &made;
}

}  // namespace

const tern_device_plugin* tern_device_library(void) {
  return narrow();
}
