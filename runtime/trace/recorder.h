// The trace recorder of the process: at most one at a time.
#pragma once

#include <tern/trace.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/trace/buffers.h"
#include "runtime/trace/event.h"
#include "runtime/trace/writer.h"
#include "threads/span_listener.h"

namespace tern {

class Device;
class DeviceStream;

/// Thread-safe except stop().
class TraceRecorder {
 public:
  /// `path`: null keeps the events for events().
  TraceRecorder(const std::string* path, const TraceOptions& options);
  ~TraceRecorder();
  TraceRecorder(const TraceRecorder&) = delete;
  TraceRecorder& operator=(const TraceRecorder&) = delete;

  /// Returns null if no trace records.
  static std::shared_ptr<TraceRecorder> active() {
    return recording.load(std::memory_order_relaxed) ? current() : nullptr;
  }
  /// Fails if another recorder is active.
  static void start(const std::shared_ptr<TraceRecorder>& recorder);
  TraceStats stop();
  /// True if the trace has no file.
  bool records_in_memory() const { return writer_ == nullptr; }
  /// Requires a stopped trace without a file.
  std::vector<TraceRecord> events() const;

  void add(const TraceEvent& event) { buffers_->add(event); }
  /// Counts an event without room.
  void drop() { buffers_->drop(); }
  /// Reserves `count` unique event ids; returns the first.
  std::uint64_t take_ids(std::uint64_t count) { return ids_.fetch_add(count, std::memory_order_relaxed); }
  std::uint64_t next_run() { return run_count_.fetch_add(1, std::memory_order_relaxed); }

  /// Returns the unique label of that content. At the memory limit, returns a label stating the loss.
  const EventLabel* intern(EventLabel label);
  /// Returns the label of that name and these arguments.
  const EventLabel* label_of(std::string_view name, const std::string& args = {});
  /// Returns a counter's label; null at the limit, because values of different counters must not form one series.
  const EventLabel* series(std::string_view track, std::string_view series);
  /// Returns a scope nested in this thread's current scope.
  const EventLabel* scope_named(std::string_view name);
  /// Returns this thread's current scope.
  const EventLabel* scope() const;
  /// Sets this thread's current scope; returns the previous scope.
  const EventLabel* enter_scope(const EventLabel* scope);

  /// Numbers of a device and a stream in the file; -1 for the CPU.
  std::int16_t number_of(const Device& device);
  std::uint16_t number_of(const DeviceStream& stream);

  void allocated(const Device& device, const void* address, std::uint64_t bytes);
  void freed(const Device& device, const void* address);
  void describe(std::string_view key, std::string_view value);

 private:
  struct LabelOrder {
    bool operator()(const EventLabel& a, const EventLabel& b) const;
  };
  static std::shared_ptr<TraceRecorder> current();
  static std::atomic<bool> recording;
  void write();
  void add_memory(std::int16_t device, const void* address, std::int64_t bytes);

  const std::unique_ptr<TraceWriter> writer_;
  const std::shared_ptr<EventBuffers> buffers_;
  const std::uint64_t max_label_bytes_;
  const EventLabel overflow_label_;  ///< shared by all events beyond the limit
  std::atomic<std::uint64_t> ids_ = 1, run_count_ = 0;
  std::mutex mutex_;  ///< guards the members below
  std::set<EventLabel, LabelOrder> labels_;
  std::uint64_t label_bytes_ = 0;
  std::vector<std::pair<const Device*, std::int16_t>> devices_;
  std::vector<const DeviceStream*> streams_;
  std::map<const void*, std::uint64_t> blocks_;  ///< bytes of allocations
  std::vector<std::int64_t> bytes_in_use_;       ///< indexed by device number, the host first
  std::exception_ptr problem_;
  std::thread thread_;
};

/// An event of rare work on this thread: planning, compilation, a collective. Costs one load if no trace records.
class TraceSpan {
 public:
  TraceSpan(EventKind kind, std::string_view name) : TraceSpan(kind, name, 0, [] { return std::string(); }) {}
  /// `args`: creates the event's members (EventLabel::args) if a trace records. `number`: TraceEvent::correlation.
  template <class Args>
  TraceSpan(EventKind kind, std::string_view name, std::uint64_t number, const Args& args)
      : recorder_(TraceRecorder::active()) {
    event_.correlation = number;
    if (recorder_ != nullptr) begin(kind, name, args());
  }
  ~TraceSpan();
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  void begin(EventKind kind, std::string_view name, const std::string& args);
  std::shared_ptr<TraceRecorder> recorder_;
  TraceEvent event_;
  int exceptions_ = 0;
};

}  // namespace tern
