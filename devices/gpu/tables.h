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
const tern_device_profiler_functions* profiler_functions();
/// Null where the driver has no parts of devices.
const tern_device_share_functions* share_functions();
/// Null where libraries are left out.
const tern_device_override_functions* override_functions();
const tern_device_partition_functions* partition_functions();
const tern_device_library_functions* library_functions();
/// Null where the vendor's library of collectives is missing.
const tern_device_collective_functions* collective_functions();
/// Null where the driver has no conditional nodes.
const tern_device_graph_conditional_functions* graph_conditional_functions();

}  // namespace tern::gpu
