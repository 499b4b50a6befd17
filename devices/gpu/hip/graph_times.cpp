// ROCm: the work of graphs is timed by events between the nodes. HIP gives nodes no ids that its profilers report.
#include "devices/gpu/graph_times.h"

#include "devices/gpu/hip/capture_api.h"
#include "devices/gpu/library.h"

namespace tern::gpu {

bool begin_node_records() {
  return false;
}

void end_node_records() {}

void number_nodes(GraphTimes*) {}

std::vector<NodeRecord> take_node_records(const std::map<std::uint64_t, std::uint64_t>&) {
  return {};
}

Status record_in_graph(Stream stream, Event event) {
  static const CaptureApi capture = [] {
    CaptureApi a;
    TERN_GPU_CAPTURE(TERN_GPU_LOAD_NEWER)
    return a;
  }();
  if (!capture.complete || api().graph_add_event == nullptr) return names::kNotSupported;
  int status = 0;
  std::uint64_t id = 0;
  Graph graph = nullptr;
  const GraphNode* nodes = nullptr;
  std::size_t count = 0;
  if (const Status error = capture.capture_info(stream, &status, &id, &graph, &nodes, &count); error != kSuccess)
    return error;
  GraphNode node = nullptr;
  if (const Status error = api().graph_add_event(&node, graph, nodes, count, event); error != kSuccess) return error;
  return capture.replace_dependencies(stream, &node, 1, kReplaceDependencies);
}

}  // namespace tern::gpu
