// What the handles of the interface point to.
#pragma once

#include <tern/device.h>

#include <list>
#include <memory>
#include <vector>

#include "devices/gpu/api.h"

namespace tern::gpu {
struct StreamProfile;
struct StreamPart;
struct Communication;

/// A body of control flow that a graph takes: the stream whose capture is its graph.
struct OpenBody {
  Stream stream = nullptr;      ///< takes the work of the body
  Graph otherwise = nullptr;    ///< a branch's: what runs else
  std::uint64_t condition = 0;  ///< a loop's: the handle of its condition, and the byte that it is read from
  Address predicate = 0;
};
}  // namespace tern::gpu

struct tern_device_stream_s {
  tern::gpu::Stream stream;
  bool recording;                                     ///< a graph takes what is put on it
  std::vector<tern::gpu::OpenBody> bodies;            ///< that are open in the graph, the innermost last
  std::unique_ptr<tern::gpu::StreamProfile> profile;  ///< while it is measured
  std::shared_ptr<tern::gpu::StreamPart> part;        ///< of the device, that it has; null: the whole
  /// Groups that have had calls on it.
  std::vector<std::shared_ptr<tern::gpu::Communication>> communications = {};

  /// The stream that takes work now.
  [[nodiscard]] tern::gpu::Stream current() const { return bodies.empty() ? stream : bodies.back().stream; }
};
struct tern_device_event_s {
  tern::gpu::Event event;
};
struct tern_device_kernel_s {
  tern::gpu::Function function;
  unsigned most_threads;  ///< of a block
};
struct tern_device_module_s {
  tern::gpu::Module module;
  std::list<tern_device_kernel_s> kernels;
};
struct tern_device_graph_s {
  tern::gpu::Graph graph;
  tern::gpu::GraphExec exec;
};
