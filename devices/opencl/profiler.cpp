#include "devices/opencl/profiler.h"

#include <algorithm>

#include "devices/opencl/status.h"

namespace tern::opencl {

/// Commands since `begin` not yet taken, in order.
struct OpenClStreamProfile {
  struct Command {
    std::uint64_t id;
    cl_event event;
  };
  std::uint64_t id = 0;
  std::vector<Command> commands;

  void forget(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) clReleaseEvent(commands[i].event);
    commands.erase(commands.begin(), commands.begin() + static_cast<std::ptrdiff_t>(count));
  }
};

TimedCommand::~TimedCommand() {
  if (event_ != nullptr) stream_->profile->commands.push_back({stream_->profile->id, event_});
}

namespace {

tern_device_status begin(std::int32_t, tern_device_stream stream) {
  stream->profile = new OpenClStreamProfile;
  return TERN_DEVICE_OK;
}

tern_device_status mark(std::int32_t, tern_device_stream stream, std::uint64_t id) {
  stream->profile->id = id;
  return TERN_DEVICE_OK;
}

tern_device_status take_spans(std::int32_t, tern_device_stream stream, tern_device_span* spans, std::uint64_t capacity,
                              std::uint64_t* count) {
  OpenClStreamProfile& p = *stream->profile;
  const std::size_t n = std::min<std::uint64_t>(capacity, p.commands.size());
  for (std::size_t i = 0; i < n; ++i) {
    spans[i].id = p.commands[i].id;
    for (const auto& [what, time] :
         {std::pair(CL_PROFILING_COMMAND_START, &spans[i].begin), std::pair(CL_PROFILING_COMMAND_END, &spans[i].end)}) {
      const cl_int error = clGetEventProfilingInfo(p.commands[i].event, what, sizeof *time, time, nullptr);
      if (error != CL_SUCCESS) return checked(error, "clGetEventProfilingInfo");
    }
  }
  p.forget(n);
  *count = n;
  return TERN_DEVICE_OK;
}

tern_device_status end(std::int32_t, tern_device_stream stream) {
  stream->profile->forget(stream->profile->commands.size());
  delete stream->profile;
  stream->profile = nullptr;
  return TERN_DEVICE_OK;
}

constexpr tern_device_profiler_functions kProfiler = {sizeof kProfiler, 0, begin, mark, take_spans, end};

}  // namespace

const tern_device_profiler_functions* profiler_functions() {
  return &kProfiler;
}

}  // namespace tern::opencl
