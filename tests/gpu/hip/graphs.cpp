// Capture and graphs. HIP has no conditional nodes.
#include <algorithm>
#include <array>

#include "tests/gpu/hip/call.h"

using namespace tern::gpu::hip;
using tern::emulator::CaptureMode;

namespace {

CaptureMode mode_of(hipStreamCaptureMode mode) {
  constexpr std::array modes{CaptureMode::global, CaptureMode::thread_local_, CaptureMode::relaxed};
  const auto number = static_cast<std::size_t>(mode);
  if (number >= modes.size()) refuse(Status::invalid_value, "%zu is no mode of a capture", number);
  return modes[number];
}

std::span<const std::uint64_t> handles(const hipGraphNode_t* nodes, std::size_t count) {
  static_assert(sizeof(hipGraphNode_t) == sizeof(std::uint64_t));
  if (count != 0) required(nodes, "dependencies");
  return {reinterpret_cast<const std::uint64_t*>(nodes), count};
}

hipStreamCaptureStatus status_of(const tern::emulator::Stream& stream) {
  if (!stream.capture) return hipStreamCaptureStatusNone;
  return stream.capture->invalid ? hipStreamCaptureStatusInvalidated : hipStreamCaptureStatusActive;
}

void instantiate(Machine& machine, hipGraphExec_t* executable, hipGraph_t graph) {
  *required(executable, "pGraphExec") = pointer<hipGraphExec_t>(machine.instantiate(handle(graph)));
}

}  // namespace

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  return call(__func__, [&](Machine& machine) { machine.begin_capture(handle(stream), mode_of(mode), 0, {}); });
}

// HIP 6 and later: "Begins graph capture on a stream to an existing graph. dependencies - Dependencies of the first
// node captured in the stream. Can be NULL if numDependencies is 0. dependencyData is currently not supported and has
// to be passed as nullptr."
extern "C" __attribute__((visibility("default"))) hipError_t hipStreamBeginCaptureToGraph(
    hipStream_t stream, hipGraph_t graph, const hipGraphNode_t* dependencies, const void* data, size_t count,
    hipStreamCaptureMode mode) {
  return call(__func__, [&](Machine& machine) {
    if (data != nullptr) refuse(Status::invalid_value, "dependencyData has to be NULL");
    machine.begin_capture(handle(stream), mode_of(mode), handle(required(graph, "graph")),
                          handles(dependencies, count));
  });
}

hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  return call(__func__, [&](Machine& machine) {
    *required(graph, "pGraph") = nullptr;
    *graph = pointer<hipGraph_t>(machine.end_capture(handle(stream)));
  });
}
hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  return call(__func__, [&](Machine& machine) {
    *required(status, "pCaptureStatus") = status_of(*machine.stream(handle(stream)));
  });
}

// "id_out - unique ID of the capture; graph_out - returns the graph being captured into; dependencies_out - returns
// pointer to an array of nodes."
hipError_t hipStreamGetCaptureInfo_v2(hipStream_t handle_, hipStreamCaptureStatus* status, unsigned long long* id,
                                      hipGraph_t* graph, const hipGraphNode_t** dependencies, size_t* count) {
  return call(__func__, [&](Machine& machine) {
    const auto stream = machine.stream(handle(handle_));
    *required(status, "captureStatus_out") = status_of(*stream);
    if (*status != hipStreamCaptureStatusActive) return;
    if (id != nullptr) *id = stream->capture->id;
    if (graph != nullptr) *graph = pointer<hipGraph_t>(stream->capture->graph->handle);
    if (dependencies != nullptr) *dependencies = reinterpret_cast<const hipGraphNode_t*>(stream->dependencies.data());
    if (count != nullptr) *count = stream->dependencies.size();
  });
}
// "hipStreamAddCaptureDependencies = 0: Add new nodes to the dependency set; hipStreamSetCaptureDependencies: Replace
// the dependency set with the new nodes." "hipErrorIllegalState" if the stream is not capturing.
hipError_t hipStreamUpdateCaptureDependencies(hipStream_t stream, hipGraphNode_t* dependencies, size_t count,
                                              unsigned int flags) {
  return call(__func__, [&](Machine& machine) {
    if (flags != hipStreamAddCaptureDependencies && flags != hipStreamSetCaptureDependencies)
      refuse(Status::invalid_value, "unknown flags 0x%x", flags);
    machine.update_dependencies(handle(stream), handles(dependencies, count), flags == hipStreamSetCaptureDependencies);
  });
}
// "Swaps the stream capture mode of a thread."
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  return call(__func__, [&](Machine& machine) {
    *mode = static_cast<hipStreamCaptureMode>(machine.exchange_mode(mode_of(*required(mode, "mode"))));
  });
}

// "flags - flags for graph creation, must be 0."
hipError_t hipGraphCreate(hipGraph_t* graph, unsigned int flags) {
  return call(__func__, [&](Machine& machine) {
    no_flags(flags);
    *required(graph, "pGraph") = pointer<hipGraph_t>(machine.create_graph());
  });
}
hipError_t hipGraphAddEventRecordNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies,
                                      size_t count, hipEvent_t event) {
  return call(__func__, [&](Machine& machine) {
    *required(node, "pGraphNode") =
        pointer<hipGraphNode_t>(machine.add_event(handle(graph), handles(dependencies, count), handle(event)));
  });
}
hipError_t hipGraphDestroy(hipGraph_t graph) {
  return call(__func__, [&](Machine& machine) { machine.destroy_graph(handle(graph)); });
}
// "nodes may be NULL, in which case this function will return the number of nodes in numNodes. Otherwise, numNodes
// entries will be filled in. If numNodes is higher than the actual number of nodes, the remaining entries in nodes will
// be set to NULL, and the number of nodes actually obtained will be returned in numNodes."
hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t* nodes, size_t* count) {
  return call(__func__, [&](Machine& machine) {
    const auto found = machine.graph(handle(graph));
    required(count, "numNodes");
    if (nodes != nullptr) {
      for (size_t i = 0; i < *count; ++i)
        nodes[i] = i < found->nodes.size() ? pointer<hipGraphNode_t>(found->nodes[i]->handle) : nullptr;
    }
    *count = nodes == nullptr ? found->nodes.size() : std::min(*count, found->nodes.size());
  });
}

hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph, hipGraphNode_t* error, char* log,
                               size_t bytes) {
  return call(__func__, [&](Machine& machine) {
    if (error != nullptr) *error = nullptr;
    if (log != nullptr && bytes != 0) *log = 0;
    instantiate(machine, executable, graph);
  });
}
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* executable, hipGraph_t graph, unsigned long long flags) {
  return call(__func__, [&](Machine& machine) {
    if (flags != 0 && flags != hipGraphInstantiateFlagAutoFreeOnLaunch)
      refuse(Status::invalid_value, "unknown flags 0x%llx", flags);
    instantiate(machine, executable, graph);
  });
}
hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream) {
  return call(__func__, [&](Machine& machine) { machine.launch_graph(handle(executable), handle(stream)); });
}
// "Check whether an executable graph can be updated with a graph and perform the update if possible. Returns
// hipSuccess, hipErrorGraphExecUpdateFailure." Nothing is said about pending launches, so the emulator refuses them.
hipError_t hipGraphExecUpdate(hipGraphExec_t executable, hipGraph_t graph, hipGraphNode_t* node,
                              hipGraphExecUpdateResult* result) {
  return call(__func__, [&](Machine& machine) {
    *required(node, "hErrorNode_out") = nullptr;
    *required(result, "updateResult_out") = hipGraphExecUpdateError;
    const std::string why = machine.update_executable(handle(executable), handle(graph), false);
    if (!why.empty()) refuse(Status::update_failure, "%s", why.c_str());
    *result = hipGraphExecUpdateSuccess;
  });
}
hipError_t hipGraphExecDestroy(hipGraphExec_t executable) {
  return call(__func__, [&](Machine& machine) { machine.destroy_executable(handle(executable)); });
}
