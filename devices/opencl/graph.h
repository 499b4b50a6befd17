// Device graphs as OpenCL command buffers (cl_khr_command_buffer).
#pragma once

#include <cstdint>

#include "devices/opencl/devices.h"
#include "devices/opencl/handles.h"

namespace tern::opencl {

/// The table "graph".
const tern_device_graph_functions* graph_functions();

// Record commands in the stream's graph instead of the queue. A refused command spoils only the graph: ending the graph
// reports failure.
tern_device_status record_launch(tern_device_stream_s& stream, cl_kernel kernel, std::size_t items, std::size_t group);
tern_device_status record_copy(const OpenClDevice& device, tern_device_stream_s& stream, tern_device_address to,
                               tern_device_address from, std::uint64_t bytes);

}  // namespace tern::opencl
