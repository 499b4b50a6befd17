#include "runtime/trace/recorder.h"

#include <tern/error.h>

#include <algorithm>

#include "platform/thread.h"
#include "runtime/devices/device.h"
#include "runtime/trace/text.h"

namespace tern {
namespace {

constexpr std::uint64_t kMinMemory = std::uint64_t{1} << 20;

std::mutex current_mutex;

/// Leaked: a scope of another thread may outlive every static object.
std::shared_ptr<TraceRecorder>& current_recorder() {
  static auto& recorder = *new std::shared_ptr<TraceRecorder>;
  return recorder;
}

/// A thread's current scope and its recorder.
struct ScopeHere {
  const TraceRecorder* recorder = nullptr;
  const EventLabel* label = nullptr;
};
thread_local ScopeHere scope_here;

TraceOptions checked(const TraceOptions& o) {
  if (o.memory < kMinMemory)
    fail(ErrorCode::invalid_argument, "TraceOptions::memory is less than 1 MiB: " + std::to_string(o.memory));
  if (o.world_size < 1 || o.rank < 0 || o.rank >= o.world_size)
    fail(ErrorCode::invalid_argument,
         "rank " + std::to_string(o.rank) + " of " + std::to_string(o.world_size) + ": ranks are 0 to world_size - 1");
  return o;
}

void add_check(const char* what, const std::string& subject, std::uint64_t bytes, std::uint64_t begin,
               std::uint64_t end) {
  const auto recorder = TraceRecorder::active();
  if (recorder == nullptr) return;
  TraceEvent e;
  e.kind = EventKind::check;
  e.begin = begin;
  e.end = end;
  e.bytes = bytes;
  e.label = recorder->label_of(std::string(what) + " " + subject);
  e.scope = recorder->scope();
  recorder->add(e);
}

}  // namespace

std::atomic<bool> TraceRecorder::recording = false;

std::shared_ptr<TraceRecorder> TraceRecorder::current() {
  const std::lock_guard lock(current_mutex);
  return current_recorder();
}

void TraceRecorder::start(const std::shared_ptr<TraceRecorder>& recorder) {
  const std::lock_guard lock(current_mutex);
  if (current_recorder() != nullptr)
    fail(ErrorCode::invalid_argument, "a trace is already recording, and a process has one at a time: stop it first");
  current_recorder() = recorder;
  span_listener = add_check;
  recording = true;
}

TraceRecorder::TraceRecorder(const std::string* path, const TraceOptions& options)
    : writer_(path == nullptr ? nullptr : std::make_unique<TraceWriter>(*path, checked(options))),
      buffers_(std::make_shared<EventBuffers>(options.memory)),
      max_label_bytes_(options.memory),
      overflow_label_{"(more names than TraceOptions::memory holds)", {}, {}, {}, {}, nullptr, true} {
  if (records_in_memory()) {
    checked(options);
  } else {
    thread_ = std::thread([this] { write(); });
  }
}

TraceRecorder::~TraceRecorder() {
  buffers_->close();
  if (thread_.joinable()) thread_.join();
}

void TraceRecorder::write() {
  platform::set_thread_name("tern-trace");
  while (std::unique_ptr<EventBlock> block = buffers_->wait()) {
    try {
      if (problem_ == nullptr) writer_->write(*block);
    } catch (...) {
      problem_ = std::current_exception();  // read after joining the thread
    }
    buffers_->release(std::move(block));
  }
}

TraceStats TraceRecorder::stop() {
  {
    const std::lock_guard lock(current_mutex);
    if (current_recorder().get() == this) {
      recording = false;
      span_listener = nullptr;
      current_recorder() = nullptr;
    }
  }
  buffers_->close();
  if (thread_.joinable()) thread_.join();
  if (problem_ != nullptr) std::rethrow_exception(problem_);
  if (records_in_memory()) {
    TraceStats stats;
    stats.dropped = buffers_->dropped();
    for (const EventBlock* block : buffers_->remaining_blocks()) {
      const std::uint32_t count = block->count.load(std::memory_order_acquire);
      stats.events += count;
      for (std::uint32_t i = 0; i < count; ++i) stats.unnamed += block->events[i].label->lost ? 1 : 0;
    }
    return stats;
  }
  for (const EventBlock* block : buffers_->remaining_blocks()) writer_->write(*block);
  return writer_->finish(buffers_->threads(), buffers_->dropped());
}

bool TraceRecorder::LabelOrder::operator()(const EventLabel& a, const EventLabel& b) const {
  if (a.outer != b.outer) return std::less<>()(a.outer, b.outer);
  for (const auto text : {&EventLabel::name, &EventLabel::args, &EventLabel::device_args, &EventLabel::module}) {
    if (const int order = (a.*text).compare(b.*text)) return order < 0;
  }
  return a.source < b.source;
}

const EventLabel* TraceRecorder::intern(EventLabel label) {
  const std::lock_guard lock(mutex_);
  const auto at = labels_.lower_bound(label);
  if (at != labels_.end() && !labels_.key_comp()(label, *at)) return &*at;
  constexpr std::size_t kNode = 32 + sizeof label;
  const std::uint64_t bytes = kNode + label.name.size() + label.args.size() + label.device_args.size() +
                              label.module.size() + label.source.size();
  if (label_bytes_ + bytes > max_label_bytes_) return &overflow_label_;
  label_bytes_ += bytes;
  return &*labels_.insert(at, std::move(label));
}

const EventLabel* TraceRecorder::label_of(std::string_view name, const std::string& args) {
  return intern({escaped(name), args, {}, {}, {}, nullptr});
}

const EventLabel* TraceRecorder::series(std::string_view track, std::string_view series) {
  const EventLabel* label = intern({escaped(track), '"' + escaped(series) + "\": ", {}, {}, {}, nullptr});
  return label->lost ? nullptr : label;
}

const EventLabel* TraceRecorder::scope_named(std::string_view name) {
  return intern({escaped(name), {}, {}, {}, {}, scope()});
}

const EventLabel* TraceRecorder::scope() const {
  return scope_here.recorder == this ? scope_here.label : nullptr;
}

const EventLabel* TraceRecorder::enter_scope(const EventLabel* label) {
  const EventLabel* before = scope();
  scope_here = {this, label};
  return before;
}

std::int16_t TraceRecorder::number_of(const Device& device) {
  if (device.traits().host_memory) return -1;
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find(devices_, &device, &std::pair<const Device*, std::int16_t>::first);
  if (at != devices_.end()) return at->second;
  // "xpu:1" gets number 1, unless another kind of device has that number.
  const std::string& name = device.name();
  const std::size_t colon = name.find(':');
  auto number = static_cast<std::int16_t>(colon == std::string::npos ? 0 : std::atoi(name.c_str() + colon + 1));
  const auto taken = [&] { return std::ranges::any_of(devices_, [&](const auto& d) { return d.second == number; }); };
  while (taken()) ++number;
  devices_.emplace_back(&device, number);
  if (writer_ != nullptr) writer_->add_device(number, name, device.describe());
  return number;
}

std::uint16_t TraceRecorder::number_of(const DeviceStream& stream) {
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find(streams_, &stream);
  const auto number = static_cast<std::uint16_t>(at - streams_.begin());
  if (at == streams_.end()) streams_.push_back(&stream);
  return number;
}

void TraceRecorder::add_memory(std::int16_t device, const void* address, std::int64_t bytes) {
  TraceEvent e;
  e.kind = EventKind::memory;
  e.begin = e.end = steady_nanoseconds();
  e.label = &overflow_label_;  // labels are exhausted
  e.device = device;
  e.id = reinterpret_cast<std::uint64_t>(address);
  e.bytes = static_cast<std::uint64_t>(bytes);
  {
    const std::lock_guard lock(mutex_);
    const auto place = static_cast<std::size_t>(device + 1);
    if (place >= bytes_in_use_.size()) bytes_in_use_.resize(place + 1);
    e.correlation = static_cast<std::uint64_t>(bytes_in_use_[place] += bytes);
  }
  add(e);
}

void TraceRecorder::allocated(const Device& device, const void* address, std::uint64_t bytes) {
  const std::int16_t number = number_of(device);
  {
    const std::lock_guard lock(mutex_);
    blocks_[address] = bytes;
  }
  add_memory(number, address, static_cast<std::int64_t>(bytes));
}

/// Ignores allocations made before the trace.
void TraceRecorder::freed(const Device& device, const void* address) {
  std::uint64_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto at = blocks_.find(address);
    if (at == blocks_.end()) return;
    bytes = at->second;
    blocks_.erase(at);
  }
  add_memory(number_of(device), address, -static_cast<std::int64_t>(bytes));
}

void TraceRecorder::describe(std::string_view key, std::string_view value) {
  if (writer_ != nullptr) writer_->describe(key, value);
}

void TraceSpan::begin(EventKind kind, std::string_view name, const std::string& args) {
  exceptions_ = std::uncaught_exceptions();
  event_.kind = kind;
  event_.label = recorder_->label_of(name, args);
  event_.scope = recorder_->scope();
  event_.begin = steady_nanoseconds();
}

TraceSpan::~TraceSpan() {
  if (recorder_ == nullptr) return;
  event_.end = steady_nanoseconds();
  event_.unfinished = std::uncaught_exceptions() > exceptions_;
  recorder_->add(event_);
}

}  // namespace tern
