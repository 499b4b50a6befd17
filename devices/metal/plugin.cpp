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

tern_device_status count(std::int32_t* n) {
  std::string why;
  *n = static_cast<std::int32_t>(devices(&why).size());
  return *n == 0 ? failed(TERN_DEVICE_FAILED, why) : TERN_DEVICE_OK;
}

tern_device_status properties(std::int32_t device, tern_device_properties* p) {
  const MetalDevice* d = find(device);
  if (d == nullptr) return TERN_DEVICE_INVALID;
  tern_device_properties mine{};
  mine.size = std::min<std::uint32_t>(p->size, sizeof mine);
  mine.dialect = TERN_DIALECT_METAL;
  mine.features = TERN_DEVICE_GROUPS;  // Metal lacks double
  mine.memory_bytes = d->memory;
  std::strncpy(mine.name, d->name.c_str(), sizeof mine.name - 1);
  std::strncpy(mine.driver, d->driver.c_str(), sizeof mine.driver - 1);
  std::strncpy(mine.kernel_targets, "metal:msl", sizeof mine.kernel_targets - 1);
  std::memcpy(p, &mine, mine.size);
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
                                        count,
                                        properties,
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
