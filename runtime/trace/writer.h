// Writes events in the format of PyTorch's profiler (Kineto's Chrome trace): one JSON object, one event per line.
#pragma once

#include <tern/trace.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/trace/buffers.h"
#include "runtime/trace/call_stack.h"
#include "runtime/trace/event.h"
#include "runtime/trace/file.h"
#include "runtime/trace/text.h"

namespace tern {

/// Kineto's category of a kind; null for events without a duration.
const char* category_of(EventKind kind);
bool is_device_event(EventKind kind);

/// A device's own description: members of its entry in "deviceProperties".
struct TracedDevice {
  std::string name, properties;
};

/// write() and finish() belong to one thread at a time; all other functions are thread-safe.
class TraceWriter {
 public:
  TraceWriter(const std::string& path, const TraceOptions& options);
  ~TraceWriter();
  void add_device(std::int16_t number, const std::string& name, const std::string& properties);
  void describe(std::string_view key, std::string_view value);
  void write(const EventBlock& block);
  /// Writes the metadata and renames the file to its final name. Returns counts of the written data.
  TraceStats finish(const std::vector<TracedThread>& threads, std::uint64_t dropped);

 private:
  /// `thread`: the system's thread id.
  void write_event(std::uint32_t thread, const TraceEvent& e);
  void put_timed(std::uint32_t thread, const TraceEvent& e);
  void put_memory(std::uint32_t thread, const TraceEvent& e);
  void put_flow(const TraceEvent& e, std::uint32_t thread, bool begins);
  void put_frame(std::uint32_t thread, const StackFrame& f);
  void open_metadata(const char* name, std::int64_t pid, std::int64_t tid);
  void put_name(const char* metadata, std::int64_t pid, std::int64_t tid, std::initializer_list<std::string_view> name);
  void put_sort_index(const char* metadata, std::int64_t pid, std::int64_t tid, std::uint64_t sort_index);
  void put_ranks();
  void put_index();
  void put_place(std::uint32_t thread, const TraceEvent& e);
  void put_annotation(const TraceEvent& e);
  void put_scope(const EventLabel& scope);
  CallStack& stack_of(std::uint32_t thread);
  void open(const char* phase, const char* category);
  void close();
  void put_time(const char* key, std::uint64_t nanoseconds);
  void put_text(std::string_view key, std::string_view value, std::string_view suffix);
  template <std::integral Number>
  void put_number(std::string_view prefix, Number value, std::string_view suffix = {}) {
    if constexpr (std::signed_integral<Number>) {
      put_signed(prefix, value, suffix);
    } else {
      put_unsigned(prefix, value, suffix);
    }
  }
  void put_signed(std::string_view prefix, std::int64_t value, std::string_view suffix);
  void put_unsigned(std::string_view prefix, std::uint64_t value, std::string_view suffix);
  std::uint64_t since_base(std::uint64_t steady) const { return steady - steady_begin_ + wall_begin_ - base_; }

  TraceFile file_;
  const TraceOptions options_;
  const std::int64_t process_;
  std::uint64_t steady_begin_, wall_begin_, base_;
  std::string out_;
  std::uint64_t events_ = 0, unnamed_ = 0;
  std::vector<std::pair<std::uint32_t, CallStack>> stacks_;
  std::vector<std::pair<std::int16_t, std::uint16_t>> streams_;  ///< streams with events
  std::mutex mutex_;                                             ///< guards the members below
  std::vector<std::pair<std::int16_t, TracedDevice>> devices_;
  std::vector<std::pair<std::string, std::string>> facts_;
};

}  // namespace tern
