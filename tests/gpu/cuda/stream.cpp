// Streams, events, capture.
#include "tests/gpu/cuda/call.h"

using namespace tern::emulator;
using namespace tern::emulator::cuda;

namespace {

CaptureMode mode_of(CUstreamCaptureMode mode) {
  switch (mode) {
    case CU_STREAM_CAPTURE_MODE_GLOBAL: return CaptureMode::global;
    case CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: return CaptureMode::thread_local_;
    case CU_STREAM_CAPTURE_MODE_RELAXED: return CaptureMode::relaxed;
  }
  refuse(Status::invalid_value, "capture mode %d", static_cast<int>(mode));
}

CUstreamCaptureMode mode_of(CaptureMode mode) {
  return mode == CaptureMode::global          ? CU_STREAM_CAPTURE_MODE_GLOBAL
         : mode == CaptureMode::thread_local_ ? CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
                                              : CU_STREAM_CAPTURE_MODE_RELAXED;
}

CUstreamCaptureStatus status_of(const Stream& stream) {
  if (!stream.capture) return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream.capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

void capture_info(Machine& machine, CUstream handle_, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                  const CUgraphNode** dependencies, size_t* count) {
  const auto stream = machine.stream(number(handle_));
  require(status, "captureStatus_out") = status_of(*stream);
  if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return;
  if (id != nullptr) *id = stream->capture->id;
  if (graph != nullptr) *graph = handle<CUgraph>(stream->capture->graph->handle);
  if (dependencies != nullptr) *dependencies = reinterpret_cast<const CUgraphNode*>(stream->dependencies.data());
  if (count != nullptr) *count = stream->dependencies.size();
}

std::span<const uint64_t> numbers(const CUgraphNode* nodes, size_t count) {
  if (count != 0) require(nodes, "dependencies");
  return {reinterpret_cast<const uint64_t*>(nodes), count};
}

}  // namespace

CUresult CUDAAPI cuStreamCreate(CUstream* stream, unsigned int flags) {
  return call("cuStreamCreate", 2000, [&](Machine& machine) {
    const auto context = machine.current();
    require(stream, "phStream");
    if (flags > CU_STREAM_NON_BLOCKING) refuse(Status::invalid_value, "Flags is 0x%x", flags);
    *stream = handle<CUstream>(machine.create_stream(context, flags));
  });
}

CUresult CUDAAPI cuStreamDestroy_v2(CUstream stream) {
  return call("cuStreamDestroy_v2", 4000, [&](Machine& machine) {
    machine.current();
    machine.destroy_stream(number(stream));
  });
}

CUresult CUDAAPI cuStreamSynchronize(CUstream stream) {
  return call("cuStreamSynchronize", 2000, [&](Machine& machine) {
    machine.current();
    machine.synchronize(number(stream));
  });
}

CUresult CUDAAPI cuStreamQuery(CUstream stream) {
  return call("cuStreamQuery", 2000, [&](Machine& machine) {
    machine.current();
    machine.query(number(stream));
  });
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
  return call("cuStreamWaitEvent", 3020, [&](Machine& machine) {
    machine.current();
    need_zero(flags, "Flags");
    machine.wait(number(stream), number(event));
  });
}

CUresult CUDAAPI cuStreamGetCtx(CUstream stream, CUcontext* context) {
  return call("cuStreamGetCtx", 9020, [&](Machine& machine) {
    require(context, "pctx") = handle<CUcontext>(machine.stream(number(stream))->context->handle);
  });
}

CUresult CUDAAPI cuEventCreate(CUevent* event, unsigned int flags) {
  return call("cuEventCreate", 2000, [&](Machine& machine) {
    const auto context = machine.current();
    require(event, "phEvent");
    if ((flags & ~(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING)) != 0) {
      refuse(Status::invalid_value, "Flags is 0x%x", flags);
    }
    *event = handle<CUevent>(machine.create_event(context, flags, (flags & CU_EVENT_DISABLE_TIMING) == 0));
  });
}

CUresult CUDAAPI cuEventDestroy_v2(CUevent event) {
  return call("cuEventDestroy_v2", 4000, [&](Machine& machine) {
    machine.current();
    machine.destroy_event(number(event));
  });
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream) {
  return call("cuEventRecord", 2000, [&](Machine& machine) {
    machine.current();
    machine.record(number(event), number(stream));
  });
}

CUresult CUDAAPI cuEventSynchronize(CUevent event) {
  return call("cuEventSynchronize", 2000, [&](Machine& machine) {
    machine.current();
    machine.synchronize_event(number(event));
  });
}

CUresult CUDAAPI cuEventQuery(CUevent event) {
  return call("cuEventQuery", 2000, [&](Machine& machine) { machine.query_event(number(event)); });
}

CUresult CUDAAPI cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return call("cuEventElapsedTime", 2000, [&](Machine& machine) {
    machine.current();
    require(milliseconds, "pMilliseconds") = machine.elapsed(number(start), number(end));
  });
}

CUresult CUDAAPI cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  return call("cuEventElapsedTime_v2", 12080, [&](Machine& machine) {
    machine.current();
    require(milliseconds, "pMilliseconds") = machine.elapsed(number(start), number(end));
  });
}

CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return call("cuStreamBeginCapture_v2", 10010,
              [&](Machine& machine) { machine.begin_capture(number(stream), mode_of(mode), 0, {}); });
}

CUresult CUDAAPI cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                                             const CUgraphEdgeData*, size_t count, CUstreamCaptureMode mode) {
  return call("cuStreamBeginCaptureToGraph", 12030, [&](Machine& machine) {
    machine.begin_capture(number(stream), mode_of(mode), number(&require(graph, "hGraph")),
                          numbers(dependencies, count));
  });
}

CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return call("cuStreamEndCapture", 10000, [&](Machine& machine) {
    require(graph, "phGraph") = nullptr;
    *graph = handle<CUgraph>(machine.end_capture(number(stream)));
  });
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return call("cuStreamIsCapturing", 10000,
              [&](Machine& machine) { require(status, "captureStatus") = status_of(*machine.stream(number(stream))); });
}

CUresult CUDAAPI cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                           CUgraph* graph, const CUgraphNode** dependencies, size_t* count) {
  return call("cuStreamGetCaptureInfo_v2", 11030,
              [&](Machine& machine) { capture_info(machine, stream, status, id, graph, dependencies, count); });
}

CUresult CUDAAPI cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                           CUgraph* graph, const CUgraphNode** dependencies,
                                           const CUgraphEdgeData** edges, size_t* count) {
  return call("cuStreamGetCaptureInfo_v3", 12030, [&](Machine& machine) {
    // "If edgeData_out is non-NULL then dependencies_out must be as well."
    if (edges != nullptr) require(dependencies, "dependencies_out");
    capture_info(machine, stream, status, id, graph, dependencies, count);
    if (edges != nullptr) *edges = nullptr;
  });
}

CUresult CUDAAPI cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode* dependencies,
                                                      const CUgraphEdgeData*, size_t count, unsigned int flags) {
  return call("cuStreamUpdateCaptureDependencies_v2", 12030, [&](Machine& machine) {
    if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES) refuse(Status::invalid_value, "flags is 0x%x", flags);
    machine.update_dependencies(number(stream), numbers(dependencies, count),
                                flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES);
  });
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return call("cuThreadExchangeStreamCaptureMode", 10010,
              [&](Machine& machine) { *mode = mode_of(machine.exchange_mode(mode_of(require(mode, "mode")))); });
}
