#include "devices/gpu/profiler.h"

#include <algorithm>

#include "devices/gpu/devices.h"
#include "devices/gpu/library.h"
#include "devices/gpu/status.h"
#include "devices/gpu/tables.h"

namespace tern::gpu {
namespace {

/// Returns a recorded event, or null: work without times still runs.
Event record(Stream stream) {
  Event event = nullptr;
  if (api().event_create(&event, 0) != kSuccess) return nullptr;
  if (api().event_record(event, stream) == kSuccess) return event;
  api().event_destroy(event);
  return nullptr;
}

void destroy(Event event) {
  if (event != nullptr) api().event_destroy(event);
}

}  // namespace

TimedWork::TimedWork(tern_device_stream_s& stream) : stream_(stream) {
  if (stream_.profile != nullptr && !stream_.recording) begin_ = record(stream_.stream);
}

TimedWork::~TimedWork() {
  if (begin_ == nullptr) return;
  if (const Event end = record(stream_.stream)) {
    stream_.profile->commands.push_back({stream_.profile->id, begin_, end});
  } else {
    destroy(begin_);
  }
}

namespace {

void forget(StreamProfile& p, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    destroy(p.commands[i].begin);
    destroy(p.commands[i].end);
  }
  p.commands.erase(p.commands.begin(), p.commands.begin() + static_cast<std::ptrdiff_t>(count));
}

tern_device_status begin_profile(std::int32_t device, tern_device_stream stream) {
  TERN_GPU_ENTER(device);
  const Event zero = record(stream->stream);
  if (zero == nullptr) return failed(TERN_DEVICE_FAILED, "the driver cannot create an event for measurements");
  stream->profile = std::make_unique<StreamProfile>();
  stream->profile->zero = zero;
  return TERN_DEVICE_OK;
}

tern_device_status mark(std::int32_t, tern_device_stream stream, std::uint64_t id) {
  stream->profile->id = id;
  return TERN_DEVICE_OK;
}

tern_device_status nanoseconds(Event from, Event to, std::uint64_t* time) {
  float milliseconds = 0;
  TERN_GPU_TRY(checked(api().event_elapsed(&milliseconds, from, to), "the time between two events"));
  *time = static_cast<std::uint64_t>(std::max(static_cast<double>(milliseconds), 0.0) * 1e6);
  return TERN_DEVICE_OK;
}

tern_device_status take_spans(std::int32_t device, tern_device_stream stream, tern_device_span* spans,
                              std::uint64_t capacity, std::uint64_t* count) {
  TERN_GPU_ENTER(device);
  StreamProfile& p = *stream->profile;
  const std::size_t n = std::min<std::uint64_t>(capacity, p.commands.size());
  for (std::size_t i = 0; i < n; ++i) {
    const StreamProfile::Command& c = p.commands[i];
    std::uint64_t length = 0;
    spans[i].id = c.id;
    TERN_GPU_TRY(nanoseconds(p.zero, c.begin, &spans[i].begin));
    // Measured separately: a float of milliseconds since the beginning lacks the precision.
    TERN_GPU_TRY(nanoseconds(c.begin, c.end, &length));
    spans[i].end = spans[i].begin + length;
  }
  forget(p, n);
  *count = n;
  return TERN_DEVICE_OK;
}

tern_device_status end(std::int32_t device, tern_device_stream stream) {
  const DeviceScope scope(device);
  if (scope.device() == nullptr) {
    stream->profile = nullptr;
    return scope.status();
  }
  forget(*stream->profile, stream->profile->commands.size());
  destroy(stream->profile->zero);
  stream->profile = nullptr;
  return TERN_DEVICE_OK;
}

constexpr tern_device_profiler_functions kProfiler = {sizeof kProfiler, 0, begin_profile, mark, take_spans, end};

}  // namespace

const tern_device_profiler_functions* profiler_functions() {
  return &kProfiler;
}

}  // namespace tern::gpu
