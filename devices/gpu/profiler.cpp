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

/// Records an event in a graph; null if the graph cannot hold it.
Event record_node(const tern_device_stream_s& stream) {
  Event event = nullptr;
  if (!stream.bodies.empty() || api().event_create(&event, 0) != kSuccess) return nullptr;
  if (record_in_graph(stream.stream, event) == kSuccess) return event;
  api().event_destroy(event);
  return nullptr;
}

}  // namespace

GraphTimes::~GraphTimes() {
  for (const Interval& w : intervals) {
    destroy(w.begin);
    destroy(w.end);
  }
}

TimedWork::TimedWork(tern_device_stream_s& stream) : stream_(stream) {
  if (stream_.profile == nullptr) return;
  if (!stream_.recording) {
    begin_ = record(stream_.stream);
  } else if (GraphTimes* times = stream_.profile->recording.get(); times != nullptr && !times->has_records) {
    begin_ = record_node(stream_);
    times->is_complete = times->is_complete && begin_ != nullptr;
  }
}

TimedWork::~TimedWork() {
  if (begin_ == nullptr) return;
  if (stream_.recording) {
    GraphTimes& times = *stream_.profile->recording;
    times.intervals.push_back({times.number, begin_, record_node(stream_)});
    times.is_complete = times.is_complete && times.intervals.back().end != nullptr;
  } else if (const Event end = record(stream_.stream)) {
    stream_.profile->commands.push_back({stream_.profile->id, begin_, end});
  } else {
    destroy(begin_);
  }
}

namespace {

void forget_launches(StreamProfile& p) {
  for (const StreamProfile::GraphLaunch& l : p.launches) {
    destroy(l.begin);
    destroy(l.end);
  }
  p.launches.clear();
}

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

tern_device_status span_of(const StreamProfile& p, Event begin, Event end, std::uint64_t* from, std::uint64_t* to) {
  std::uint64_t length = 0;
  TERN_GPU_TRY(nanoseconds(p.zero, begin, from));
  // Measured separately: a float of milliseconds since the beginning lacks the precision.
  TERN_GPU_TRY(nanoseconds(begin, end, &length));
  *to = *from + length;
  return TERN_DEVICE_OK;
}

/// Records of each graph with records, by launch.
using LaunchRecords = std::map<const GraphTimes*, std::map<std::uint32_t, std::vector<NodeRecord>>>;

/// Adds the spans of a launch. The library's clock is moved: the first work begins with the launch on the stream.
tern_device_status add_spans(StreamProfile& p, const StreamProfile::GraphLaunch& l, LaunchRecords& records) {
  tern_device_graph_span span{l.id, 0, 0, 0};
  for (const GraphTimes::Interval& w : l.times->intervals) {
    span.number = w.number;
    TERN_GPU_TRY(span_of(p, w.begin, w.end, &span.begin, &span.end));
    p.graph_spans.push_back(span);
  }
  if (!l.times->has_records) return TERN_DEVICE_OK;
  TERN_GPU_TRY(span_of(p, l.begin, l.end, &span.begin, &span.end));
  auto& launches = records[l.times.get()];
  if (launches.empty()) {
    p.graph_spans.push_back(span);  // the whole launch, without records
    return TERN_DEVICE_OK;
  }
  std::vector<NodeRecord> nodes = std::move(launches.begin()->second);
  launches.erase(launches.begin());
  std::ranges::sort(nodes, {}, &NodeRecord::begin);
  for (const NodeRecord& n : nodes) {
    const std::uint64_t from = span.begin + (n.begin - nodes[0].begin);
    p.graph_spans.push_back({l.id, l.times->numbers.at(n.node), from, from + (n.end - n.begin)});
  }
  return TERN_DEVICE_OK;
}

/// Makes the spans of all launches, which have finished.
tern_device_status collect(StreamProfile& p) {
  LaunchRecords records;
  for (const StreamProfile::GraphLaunch& l : p.launches) {
    if (!l.times->has_records || records.contains(l.times.get())) continue;
    auto& launches = records[l.times.get()];
    for (const NodeRecord& n : take_node_records(l.times->numbers)) launches[n.launch].push_back(n);
  }
  tern_device_status status = TERN_DEVICE_OK;
  for (const StreamProfile::GraphLaunch& l : p.launches) {
    status = add_spans(p, l, records);
    if (status != TERN_DEVICE_OK) break;
  }
  forget_launches(p);
  return status;
}

tern_device_status take_graph_spans(std::int32_t device, tern_device_stream stream, tern_device_graph_span* spans,
                                    std::uint64_t capacity, std::uint64_t* count) {
  TERN_GPU_ENTER(device);
  StreamProfile& p = *stream->profile;
  TERN_GPU_TRY(collect(p));
  *count = std::min<std::uint64_t>(capacity, p.graph_spans.size());
  const auto end = p.graph_spans.begin() + static_cast<std::ptrdiff_t>(*count);
  std::copy(p.graph_spans.begin(), end, spans);
  p.graph_spans.erase(p.graph_spans.begin(), end);
  return TERN_DEVICE_OK;
}

tern_device_status take_spans(std::int32_t device, tern_device_stream stream, tern_device_span* spans,
                              std::uint64_t capacity, std::uint64_t* count) {
  TERN_GPU_ENTER(device);
  StreamProfile& p = *stream->profile;
  const std::size_t n = std::min<std::uint64_t>(capacity, p.commands.size());
  for (std::size_t i = 0; i < n; ++i) {
    const StreamProfile::Command& c = p.commands[i];
    spans[i].id = c.id;
    TERN_GPU_TRY(span_of(p, c.begin, c.end, &spans[i].begin, &spans[i].end));
  }
  forget(p, n);
  *count = n;
  return TERN_DEVICE_OK;
}

tern_device_status end(std::int32_t device, tern_device_stream stream) {
  const DeviceScope scope(device);
  if (stream->profile->has_records) end_node_records();
  if (scope.device() == nullptr) {
    stream->profile = nullptr;
    return scope.status();
  }
  forget(*stream->profile, stream->profile->commands.size());
  forget_launches(*stream->profile);
  destroy(stream->profile->zero);
  stream->profile = nullptr;
  return TERN_DEVICE_OK;
}

constexpr tern_device_profiler_functions kProfiler = {sizeof kProfiler, 0,   begin_profile,   mark,
                                                      take_spans,       end, take_graph_spans};

}  // namespace

void begin_graph_times(StreamProfile& profile) {
  profile.recording = std::make_shared<GraphTimes>();
  profile.has_records = profile.has_records || begin_node_records();
  profile.recording->has_records = profile.has_records;
  number_nodes(profile.recording.get());
}

std::shared_ptr<GraphTimes> end_graph_times(StreamProfile& profile) {
  number_nodes(nullptr);
  std::shared_ptr<GraphTimes> times = std::move(profile.recording);
  return times->is_complete ? times : nullptr;
}

tern_device_status launch_timed(tern_device_stream_s& stream, const tern_device_graph_s& graph) {
  StreamProfile& p = *stream.profile;
  StreamProfile::GraphLaunch launch{p.id, graph.times, nullptr, nullptr};
  if (graph.times->has_records) {
    p.has_records = p.has_records || begin_node_records();
    launch.begin = record(stream.stream);
  } else if (std::ranges::find(p.launches, graph.times, &StreamProfile::GraphLaunch::times) != p.launches.end()) {
    // A graph has one set of events.
    TERN_GPU_TRY(wait_for_stream(stream.stream));
    TERN_GPU_TRY(collect(p));
  }
  const tern_device_status status = checked(api().graph_launch(graph.exec, stream.stream), "launching a graph");
  if (status == TERN_DEVICE_OK && graph.times->has_records) launch.end = record(stream.stream);
  const bool has_times = !graph.times->has_records || (launch.begin != nullptr && launch.end != nullptr);
  if (status == TERN_DEVICE_OK && has_times) {
    p.launches.push_back(std::move(launch));
  } else {
    destroy(launch.begin);
    destroy(launch.end);
  }
  return status;
}

const tern_device_profiler_functions* profiler_functions() {
  return &kProfiler;
}

}  // namespace tern::gpu
