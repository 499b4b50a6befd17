// Capture: work of a stream becomes nodes of a graph; and the calls allowed during a capture.
#include <algorithm>
#include <set>

#include "tests/gpu/machine/machine.h"

namespace tern::emulator {
namespace {

thread_local CaptureMode thread_mode = CaptureMode::global;

}  // namespace

// cuStreamBeginCapture: "it may only be initiated if the stream is not already in capture mode."
// cuStreamBeginCaptureToGraph: "The graph will not be instantiable until the user calls cuStreamEndCapture."
void Machine::begin_capture(uint64_t handle, CaptureMode mode, uint64_t graph_handle,
                            std::span<const uint64_t> dependencies) {
  const std::shared_ptr<Stream> stream = this->stream(handle);
  if (stream->capture) refuse(Status::illegal_state, "the stream captures already");
  auto capture = std::make_shared<Capture>();
  if (graph_handle != 0) {
    capture->graph = graph(graph_handle);
    capture->is_callers_graph = true;
    for (uint64_t dependency : dependencies) {
      if (node(dependency)->graph != capture->graph.get()) {
        refuse(Status::invalid_value, "a dependency of the first node is in another graph");
      }
    }
  } else {
    capture->graph = make_graph(nullptr);
  }
  capture->id = ++last_capture_;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream;
  ++capture->graph->capturing;
  captures_.push_back(capture);
  stream->capture = capture;
  stream->dependencies.assign(dependencies.begin(), dependencies.end());
}

void Machine::leave_capture(Capture& capture) {
  for (const auto& stream : streams_.objects()) {
    if (stream->capture.get() != &capture) continue;
    stream->capture = nullptr;
    stream->dependencies.clear();
  }
  if (!capture.ended) --capture.graph->capturing;
  capture.ended = true;
  if (capture.invalid && !capture.is_callers_graph && graphs_.live(capture.graph->handle)) {
    forget_graph(*capture.graph);
  }
  capture.origin = nullptr;
  std::erase_if(captures_, [&](const auto& other) { return other.get() == &capture; });
}

uint64_t Machine::end_capture(uint64_t handle) {
  const std::shared_ptr<Stream> stream = this->stream(handle);
  const std::shared_ptr<Capture> capture = stream->capture;
  if (!capture) refuse(Status::illegal_state, "the stream does not capture");
  // CUDA_ERROR_STREAM_CAPTURE_UNMATCHED: "The capture was not initiated in this stream."
  if (capture->origin != stream) {
    invalidate(*capture, "its end was asked for on another stream than its begin");
    refuse(Status::capture_unmatched, "the capture began on another stream");
  }
  // "If the mode argument to cuStreamBeginCapture was not CU_STREAM_CAPTURE_MODE_RELAXED, this call must be from the
  // same thread as cuStreamBeginCapture."
  if (capture->mode != CaptureMode::relaxed && capture->thread != std::this_thread::get_id()) {
    refuse(Status::capture_wrong_thread, "the capture began on another thread");
  }
  if (!capture->invalid) {
    // CUDA_ERROR_STREAM_CAPTURE_UNJOINED: "The capture sequence contains a fork that was not joined to the primary
    // stream."
    std::set<uint64_t> reached;
    std::vector<uint64_t> open = stream->dependencies;
    while (!open.empty()) {
      const uint64_t at = open.back();
      open.pop_back();
      if (!reached.insert(at).second) continue;
      const auto& before = node(at)->dependencies;
      open.insert(open.end(), before.begin(), before.end());
    }
    for (const auto& other : streams_.objects()) {
      if (other->capture != capture) continue;
      for (uint64_t dependency : other->dependencies) {
        if (reached.count(dependency) != 0) continue;
        invalidate(*capture, "a stream was not joined to the one that it began on");
        leave_capture(*capture);
        refuse(Status::capture_unjoined, "a stream of the capture was not joined to the one that it began on");
      }
    }
  }
  leave_capture(*capture);
  // "If capture was invalidated, due to a violation of the rules of stream capture, then a NULL graph will be
  // returned."
  if (capture->invalid) refuse(Status::capture_invalidated, "the capture is invalid: %s", capture->why.c_str());
  return capture->graph->handle;
}

void Machine::invalidate(Capture& capture, const std::string& why) {
  if (!capture.invalid) capture.why = why;
  capture.invalid = true;
}

CaptureMode Machine::exchange_mode(CaptureMode mode) {
  return std::exchange(thread_mode, mode);
}

// cuThreadExchangeStreamCaptureMode:
// GLOBAL: "If the local thread has an ongoing capture sequence that was not initiated with
// CU_STREAM_CAPTURE_MODE_RELAXED at cuStreamBeginCapture, or if any other thread has a concurrent capture sequence
// initiated with CU_STREAM_CAPTURE_MODE_GLOBAL, this thread is prohibited from potentially unsafe API calls."
// THREAD_LOCAL: the first half only. RELAXED: "The local thread is not prohibited from potentially unsafe API calls."
// Programming guide: "When an invalid operation is attempted during stream capture, any associated capture graphs are
// invalidated."
void Machine::unsafe() {
  if (thread_mode == CaptureMode::relaxed) return;
  const char* forbids = nullptr;
  for (const auto& capture : captures_) {
    const bool own = capture->thread == std::this_thread::get_id();
    if (own ? capture->mode == CaptureMode::relaxed
            : thread_mode == CaptureMode::thread_local_ || capture->mode != CaptureMode::global) {
      continue;
    }
    forbids = own ? "a capture of this thread" : "a global capture of another thread";
    invalidate(*capture, std::string(current_call()) + " was called, which is unsafe while a stream captures");
  }
  if (forbids != nullptr) {
    refuse(Status::capture_unsupported, "%s is unsafe while %s goes on; it is invalid now", current_call(), forbids);
  }
}

void Machine::add_captured(const std::shared_ptr<Stream>& stream, Work work) {
  Capture& capture = *stream->capture;
  if (capture.invalid) refuse(Status::capture_invalidated, "%s", capture.why.c_str());
  const std::vector<uint64_t> dependencies = stream->dependencies;
  stream->dependencies = {add_node(capture.graph->handle, dependencies, stream->context, std::move(work))};
}

// cuStreamUpdateCaptureDependencies: "Returns CUDA_ERROR_ILLEGAL_STATE if the stream is not capturing."
void Machine::update_dependencies(uint64_t handle, std::span<const uint64_t> nodes, bool replace) {
  const std::shared_ptr<Stream> stream = this->stream(handle);
  if (!stream->capture) refuse(Status::illegal_state, "the stream does not capture");
  if (stream->capture->invalid) refuse(Status::capture_invalidated, "%s", stream->capture->why.c_str());
  // `nodes` may be the stream's own array, returned by cuStreamGetCaptureInfo.
  std::vector<uint64_t> next(nodes.begin(), nodes.end());
  for (uint64_t dependency : next) {
    if (node(dependency)->graph != stream->capture->graph.get()) {
      refuse(Status::invalid_value, "a dependency is in another graph than the one that the stream captures into");
    }
  }
  if (!replace) next.insert(next.begin(), stream->dependencies.begin(), stream->dependencies.end());
  std::vector<uint64_t> unique;
  for (uint64_t dependency : next) {
    if (std::find(unique.begin(), unique.end(), dependency) == unique.end()) unique.push_back(dependency);
  }
  stream->dependencies = unique;
}

}  // namespace tern::emulator
