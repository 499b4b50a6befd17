// "graph": captured launches, started together by the device.
#include <utility>

#include "devices/gpu/devices.h"
#include "devices/gpu/handles.h"
#include "devices/gpu/libraries/symmetric.h"
#include "devices/gpu/library.h"
#include "devices/gpu/profiler.h"
#include "devices/gpu/status.h"
#include "devices/gpu/tables.h"
#include "devices/gpu/vendor.h"

namespace tern::gpu {
namespace {

bool has_graphs() {
  const Api& a = api();
  return a.capture_begin != nullptr && a.capture_end != nullptr && a.graph_instantiate != nullptr &&
         a.graph_launch != nullptr && a.graph_exec_destroy != nullptr && a.graph_destroy != nullptr;
}

tern_device_status begin(std::int32_t device, tern_device_stream stream) {
  TERN_GPU_ENTER(device);
  if (!has_graphs()) return failed(TERN_DEVICE_UNSUPPORTED, std::string(names::kDriver) + " is too old for graphs");
  TERN_GPU_TRY(prepare_graphs(*d));
  TERN_GPU_TRY(checked(api().capture_begin(stream->stream, kRelaxed), "beginning a graph"));
  stream->recording = true;
  if (stream->profile != nullptr) begin_graph_times(*stream->profile);
  return TERN_DEVICE_OK;
}

/// The texts are for dumps; the times of the work name its number.
tern_device_status annotate(std::int32_t, tern_device_stream stream, const char*) {
  if (stream->profile != nullptr) ++stream->profile->recording->number;
  return TERN_DEVICE_OK;
}

/// Ends a recording, also after errors. `graph` stays null if the driver has none.
tern_device_status end_capture(tern_device_stream stream, Graph* graph) {
  stream->recording = false;
  if (stream->profile != nullptr) stream->profile->recording->is_captured = true;
  // Bodies are still open only after an error; their graphs are destroyed with the enclosing graph.
  while (!stream->bodies.empty()) close_body(stream->bodies);
  const Status ended = api().capture_end(stream->stream, graph);
  // Ends the capture again: a still capturing stream would refuse other work.
  if (ended != kSuccess) api().capture_end(stream->stream, graph);
  return checked(ended, "ending a graph");
}

tern_device_status end(std::int32_t device, tern_device_stream stream, tern_device_graph* result) {
  const DeviceScope scope(device);
  Graph graph = nullptr;
  const tern_device_status status = end_capture(stream, &graph);
  const bool is_wanted = status == TERN_DEVICE_OK && result != nullptr;
  GraphExec exec = nullptr;
  const Status error = is_wanted ? api().graph_instantiate(&exec, graph, 0) : kSuccess;
  const bool is_measured = stream->profile != nullptr;
  const std::shared_ptr<GraphTimes> times = is_measured ? end_graph_times(*stream->profile) : nullptr;
  if (!is_wanted) {
    const std::string why = message();
    if (graph != nullptr) api().graph_destroy(graph);
    return status == TERN_DEVICE_OK ? status : failed(status, why);
  }
  if (error != kSuccess) {
    api().graph_destroy(graph);
    return checked(error, "preparing a graph");
  }
  if (is_measured && times == nullptr) {
    api().graph_exec_destroy(exec);
    api().graph_destroy(graph);
    return failed(TERN_DEVICE_UNSUPPORTED, std::string(names::kDriver) + " cannot time the work of this graph");
  }
  *result = new tern_device_graph_s{graph, exec, times};
  return TERN_DEVICE_OK;
}

tern_device_status update(std::int32_t device, tern_device_stream stream, tern_device_graph graph) {
  const DeviceScope scope(device);
  Graph recorded = nullptr;
  tern_device_status status = end_capture(stream, &recorded);
  if (stream->profile != nullptr) end_graph_times(*stream->profile);
  if (status == TERN_DEVICE_OK && !names::kUpdatesRunningGraphs) status = wait_for_stream(stream->stream);
  const bool refused = status == TERN_DEVICE_OK && update_graph(graph->exec, recorded) != kSuccess;
  if (status == TERN_DEVICE_OK && !refused) std::swap(graph->graph, recorded);  // nodes belong to their graph
  const std::string why = refused ? "the driver does not change a graph" : message();
  if (recorded != nullptr) api().graph_destroy(recorded);
  return refused ? failed(TERN_DEVICE_UNSUPPORTED, why) : status == TERN_DEVICE_OK ? status : failed(status, why);
}

tern_device_status launch(std::int32_t device, tern_device_stream stream, tern_device_graph graph) {
  TERN_GPU_ENTER(device);
  if (stream->profile != nullptr && graph->times != nullptr) return launch_timed(*stream, *graph);
  return checked(api().graph_launch(graph->exec, stream->stream), "launching a graph");
}

tern_device_status destroy(std::int32_t device, tern_device_graph graph) {
  const DeviceScope scope(device);
  if (scope.device() == nullptr) {
    delete graph;
    return scope.status();
  }
  const Status exec = api().graph_exec_destroy(graph->exec);
  const Status rest = api().graph_destroy(graph->graph);
  delete graph;
  return checked(exec != kSuccess ? exec : rest, "destroying a graph");
}

constexpr tern_device_graph_functions kGraphs = {sizeof kGraphs, 0, begin, end, launch, destroy, annotate, update};

}  // namespace

const tern_device_graph_functions* graph_functions() {
  return &kGraphs;
}

}  // namespace tern::gpu
