// Definitions of the interface's handles.
#pragma once

#include <tern/device.h>

#include <list>
#include <memory>
#include <vector>

#include "devices/gpu/api.h"

namespace tern::gpu {
struct GraphTimes;
struct StreamProfile;
struct StreamPart;
struct Communication;

/// A body of control flow being captured: the capturing stream and its node.
struct OpenBody {
  Stream stream = nullptr;      ///< takes the work of the body
  Graph otherwise = nullptr;    ///< branch: graph of the else body
  std::uint64_t condition = 0;  ///< loop: handle of the condition, and address of the predicate
  Address predicate = 0;
};
}  // namespace tern::gpu

struct tern_device_stream_s {
  tern::gpu::Stream stream;
  bool recording;                                       ///< true while a graph captures the stream's work
  std::vector<tern::gpu::OpenBody> bodies;              ///< open bodies in the graph, innermost last
  std::unique_ptr<tern::gpu::StreamProfile> profile;    ///< set while measured
  std::shared_ptr<tern::gpu::StreamPart> device_share;  ///< the stream's share of the device; null: the whole device
  /// Groups with calls on this stream.
  std::vector<std::shared_ptr<tern::gpu::Communication>> communications = {};

  /// Stream receiving work now.
  [[nodiscard]] tern::gpu::Stream current() const { return bodies.empty() ? stream : bodies.back().stream; }
};
struct tern_device_event_s {
  tern::gpu::Event event;
};
struct tern_device_kernel_s {
  tern::gpu::Function function;
  unsigned max_threads;  ///< largest block size
};
struct tern_device_module_s {
  tern::gpu::Module module;
  std::list<tern_device_kernel_s> kernels;
};
struct tern_device_graph_s {
  tern::gpu::Graph graph;
  tern::gpu::GraphExec exec;
  std::shared_ptr<tern::gpu::GraphTimes> times;  ///< set if recorded while the stream was measured
};
