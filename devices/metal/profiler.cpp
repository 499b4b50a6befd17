#include "devices/metal/profiler.h"

#include <algorithm>
#include <cmath>

#include "devices/metal/handles.h"

namespace tern::metal {
namespace {

tern_device_status begin(std::int32_t, tern_device_stream stream) {
  const Pool pool;
  const tern_device_status status = stream->stream->synchronize();  // earlier commands belong to no span
  stream->stream->profile = std::make_unique<MetalStream::Profile>();
  return status;
}

tern_device_status mark(std::int32_t, tern_device_stream stream, std::uint64_t id) {
  stream->stream->profile->id = id;
  return TERN_DEVICE_OK;
}

std::uint64_t nanoseconds(double seconds) {
  return static_cast<std::uint64_t>(std::llround(seconds * 1e9));
}

tern_device_status take_spans(std::int32_t, tern_device_stream stream, tern_device_span* spans, std::uint64_t capacity,
                              std::uint64_t* count) {
  const Pool pool;
  std::vector<MetalStream::Span>& all = stream->stream->profile->spans;
  *count = std::min<std::uint64_t>(capacity, all.size());
  for (std::uint64_t i = 0; i < *count; ++i) {
    const Submission::Times times = all[i].submission->times();
    spans[i] = {all[i].id, nanoseconds(times.begin), nanoseconds(times.end)};
  }
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(*count));
  return TERN_DEVICE_OK;
}

tern_device_status end(std::int32_t, tern_device_stream stream) {
  const Pool pool;
  stream->stream->profile = nullptr;
  return TERN_DEVICE_OK;
}

constexpr tern_device_profiler_functions kProfiler = {sizeof kProfiler, 0, begin, mark, take_spans, end};

}  // namespace

const tern_device_profiler_functions* profiler_functions() {
  return &kProfiler;
}

}  // namespace tern::metal
