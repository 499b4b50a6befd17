// The plugins `cuda` and `rocm`: equal sources, compiled with one vendor's names (cuda/, hip/).
#include <algorithm>
#include <cstring>

#include "devices/gpu/devices.h"
#include "devices/gpu/library.h"
#include "devices/gpu/memory.h"
#include "devices/gpu/modules.h"
#include "devices/gpu/status.h"
#include "devices/gpu/streams.h"
#include "devices/gpu/tables.h"
#include "devices/gpu/vendor.h"

using namespace tern::gpu;

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
  const GpuDevice* const d = find_device(device);
  if (d == nullptr) return TERN_DEVICE_INVALID;
  tern_device_properties mine{};
  mine.size = std::min<std::uint32_t>(p->size, sizeof mine);
  mine.dialect = names::kDialect;
  mine.features = TERN_DEVICE_DOUBLE | TERN_DEVICE_GROUPS | (has_sparse_units(*d) ? TERN_DEVICE_SPARSE : 0);
  mine.memory_bytes = d->memory;
  mine.units = d->units;
  std::strncpy(mine.name, d->name.c_str(), sizeof mine.name - 1);
  std::strncpy(mine.driver, (d->driver + ", " + d->arch).c_str(), sizeof mine.driver - 1);
  std::strncpy(mine.kernel_targets, device_targets(*d).c_str(), sizeof mine.kernel_targets - 1);
  std::memcpy(p, &mine, mine.size);
  return TERN_DEVICE_OK;
}

struct Table {
  const char* name;
  const void* (*functions)();
};
constexpr Table kTables[] = {
    {"collective", [] { return static_cast<const void*>(collective_functions()); }},
    {"events", [] { return static_cast<const void*>(event_functions()); }},
    {"graph", [] { return static_cast<const void*>(graph_functions()); }},
    {"graph_conditional", [] { return static_cast<const void*>(graph_conditional_functions()); }},
    {"kernel_compiler", [] { return static_cast<const void*>(kernel_compiler_functions()); }},
    {"libraries", [] { return static_cast<const void*>(library_functions()); }},
    {"memory_segments", [] { return static_cast<const void*>(memory_segment_functions()); }},
    {"native_stream", [] { return static_cast<const void*>(native_stream_functions()); }},
    {"override", [] { return static_cast<const void*>(override_functions()); }},
    {"partition", [] { return static_cast<const void*>(partition_functions()); }},
    {"peer", [] { return static_cast<const void*>(peer_functions()); }},
    {"pinned_memory", [] { return static_cast<const void*>(pinned_memory_functions()); }},
    {"profiler", [] { return static_cast<const void*>(profiler_functions()); }},
    {"share", [] { return static_cast<const void*>(share_functions()); }},
};

const void* get_extension(const char* name, std::uint32_t version) {
  if (version != TERN_DEVICE_EXTENSION_VERSION) return nullptr;
  for (const Table& t : kTables)
    if (std::strcmp(t.name, name) == 0) return t.functions();
  return nullptr;
}

constexpr tern_device_plugin kPluginTable = {sizeof(tern_device_plugin),
                                             TERN_DEVICE_ABI,
                                             names::kPlugin,
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
  return &kPluginTable;
}
