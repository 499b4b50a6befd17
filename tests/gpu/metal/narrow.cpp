// The plugin `narrow`: the device of examples/device without float64, so that the bits of emulated Metal can be
// compared with those of another compiler's language. (The CPU computes in float64 what such devices define in
// float32.) What it compiles is kept, as the emulated GPUs' kernels are.
#include <tern/device.h>

#define tern_device_library tern_example_device_library
#include "examples/device/device.cpp"  // NOLINT(bugprone-suspicious-include)
#undef tern_device_library

#include <exception>

#include "tests/gpu/compile_c.h"

namespace {

tern_device_status narrow_properties(std::int32_t device, tern_device_properties* p) {
  const tern_device_status status = properties(device, p);
  p->features = TERN_DEVICE_HOST_MEMORY;
  p->vector_floats = 0;  // texts depend on it: those of a GPU
  return status;
}

tern_device_status narrow_module_load(std::int32_t, const tern_device_source* source, tern_device_module* module) {
  tern::emulated::CompileOptions options;
  options.language = tern::emulated::Language::cpp;
  void* library = nullptr;
  try {
    library = dlopen(compile_c(std::string(source->text, source->length), options).c_str(), RTLD_NOW | RTLD_LOCAL);
  } catch (const std::exception& error) {
    return failed(TERN_DEVICE_COMPILE, error.what());
  }
  if (library == nullptr) return failed(TERN_DEVICE_FAILED, dlerror());
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
