// Optional function tables of a plugin (tern/device.h).
#pragma once

#include <tern/device.h>

namespace tern {

/// Members are null if the plugin lacks the table.
struct PluginTables {
  /// Fails (unsupported) if a table is shorter than required by this version of Tern.
  explicit PluginTables(const tern_device_plugin& plugin);

  const tern_device_graph_functions* graphs;
  const tern_device_graph_conditional_functions* conditionals;
  const tern_device_event_functions* events;
  const tern_device_share_functions* shares;
  const tern_device_override_functions* overrides;
  const tern_device_profiler_functions* profiler;
  const tern_device_pinned_memory_functions* pinned_memory;
  const tern_device_memory_segment_functions* memory_segments;
  const tern_device_partition_functions* partitions;
  const tern_device_peer_functions* peers;
  const tern_device_collective_functions* collectives;
  const tern_device_kernel_compiler_functions* kernel_compiler;
  const tern_device_library_functions* libraries;
  const tern_device_native_stream_functions* native_streams;
};

}  // namespace tern
