#include "runtime/devices/plugin/tables.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <cstddef>

namespace tern {
namespace {

/// T begins with its size; all members after `reserved` are functions. `least`: the size without later additions.
template <class T, std::size_t least = sizeof(T)>
const T* table(const tern_device_plugin& plugin, const char* name) {
  const auto* table = static_cast<const T*>(plugin.get_extension(name, TERN_DEVICE_EXTENSION_VERSION));
  if (table == nullptr) return nullptr;
  if (table->size < least)
    fail(ErrorCode::unsupported, fmt::format("the plugin '{}' has a table '{}' of {} bytes, less than {}: recompile it",
                                             plugin.name, name, table->size, least));
  return table;
}

}  // namespace

PluginTables::PluginTables(const tern_device_plugin& p)
    : graphs(table<tern_device_graph_functions, offsetof(tern_device_graph_functions, update)>(p, "graph")),
      conditionals(table<tern_device_graph_conditional_functions>(p, "graph_conditional")),
      events(table<tern_device_event_functions>(p, "events")),
      shares(table<tern_device_share_functions>(p, "share")),
      overrides(table<tern_device_override_functions>(p, "override")),
      profiler(table<tern_device_profiler_functions, offsetof(tern_device_profiler_functions, read_graph_spans)>(
          p, "profiler")),
      pinned_memory(table<tern_device_pinned_memory_functions>(p, "pinned_memory")),
      memory_segments(table<tern_device_memory_segment_functions>(p, "memory_segments")),
      partitions(table<tern_device_partition_functions>(p, "partition")),
      peers(table<tern_device_peer_functions>(p, "peer")),
      collectives(table<tern_device_collective_functions>(p, "collective")),
      kernel_compiler(table<tern_device_kernel_compiler_functions>(p, "kernel_compiler")),
      libraries(table<tern_device_library_functions>(p, "libraries")),
      native_streams(
          table<tern_device_native_stream_functions, offsetof(tern_device_native_stream_functions, is_captured)>(
              p, "native_stream")) {}

}  // namespace tern
