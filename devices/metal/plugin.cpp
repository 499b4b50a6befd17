// The plugin `metal`: Apple's GPUs by Metal 3 or 4. Kernels are source text in Metal's language.
#include <algorithm>
#include <cstring>

#include "devices/metal/devices.h"
#include "devices/metal/launch.h"
#include "devices/metal/memory.h"
#include "devices/metal/modules.h"
#include "devices/metal/profiler.h"
#include "devices/metal/status.h"
#include "devices/metal/streams.h"

using namespace tern::metal;

namespace {

const char* last_message() {
  return message().c_str();
}

tern_device_status device_count(std::int32_t* count) {
  std::string reason;
  *count = static_cast<std::int32_t>(devices(&reason).size());
  return *count == 0 ? failed(TERN_DEVICE_FAILED, reason) : TERN_DEVICE_OK;
}

tern_device_status device_properties(std::int32_t device, tern_device_properties* result) {
  const MetalDevice* metal_device = find(device);
  if (metal_device == nullptr) return TERN_DEVICE_INVALID;
  tern_device_properties filled{};
  filled.size = std::min<std::uint32_t>(result->size, sizeof filled);
  filled.dialect = TERN_DIALECT_METAL;
  filled.features = TERN_DEVICE_GROUPS;  // Metal lacks double
  filled.memory_bytes = metal_device->memory;
  std::strncpy(filled.name, metal_device->name.c_str(), sizeof filled.name - 1);
  std::strncpy(filled.driver, metal_device->driver.c_str(), sizeof filled.driver - 1);
  std::strncpy(filled.kernel_targets, "metal:msl", sizeof filled.kernel_targets - 1);
  std::memcpy(result, &filled, filled.size);
  return TERN_DEVICE_OK;
}

const void* get_extension(const char* name, std::uint32_t version) {
  if (version != TERN_DEVICE_EXTENSION_VERSION) return nullptr;
  if (std::strcmp(name, "events") == 0) return event_functions();
  return std::strcmp(name, "profiler") == 0 ? profiler_functions() : nullptr;
}

constexpr tern_device_plugin kPlugin = {sizeof(tern_device_plugin),
                                        TERN_DEVICE_ABI,
                                        "metal",
                                        last_message,
                                        device_count,
                                        device_properties,
                                        allocate,
                                        release,
                                        copy_to_device,
                                        copy_to_host,
                                        copy_within,
                                        stream_create,
                                        stream_destroy,
                                        stream_synchronize,
                                        event_create,
                                        event_destroy,
                                        event_record,
                                        event_synchronize,
                                        stream_wait,
                                        module_load,
                                        module_unload,
                                        module_kernel,
                                        launch,
                                        get_extension};

}  // namespace

const tern_device_plugin* tern_device_library(void) {
  return &kPlugin;
}
