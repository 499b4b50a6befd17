// The plugin's optional tables of functions.
#pragma once

#include <tern/device.h>

namespace tern::gpu {

const tern_device_event_functions* event_functions();
const tern_device_kernel_compiler_functions* kernel_compiler_functions();
const tern_device_graph_functions* graph_functions();
const tern_device_native_stream_functions* native_stream_functions();
const tern_device_pinned_memory_functions* pinned_memory_functions();
const tern_device_memory_segment_functions* memory_segment_functions();
const tern_device_peer_functions* peer_functions();
const tern_device_profiler_functions* profiler_functions();
/// Returns null if the driver cannot share devices.
const tern_device_share_functions* share_functions();
/// Returns null if libraries are disabled.
const tern_device_override_functions* override_functions();
const tern_device_partition_functions* partition_functions();
const tern_device_library_functions* library_functions();
/// Returns null if the vendor's collective library is missing.
const tern_device_collective_functions* collective_functions();
/// Returns null if the driver has no conditional nodes.
const tern_device_graph_conditional_functions* graph_conditional_functions();

}  // namespace tern::gpu
