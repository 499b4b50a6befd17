// Where threads put events: blocks of their own, which a writer takes when they are full. Memory is bounded.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/trace/event.h"

namespace tern {

/// One thread fills it; others read the first `count` events.
struct EventBlock {
  static constexpr std::uint32_t kSize = 1024;
  std::uint32_t thread = 0;  ///< the system's number of it
  std::atomic<std::uint32_t> count = 0;
  std::uint32_t taken = 0;  ///< by the writer
  std::array<TraceEvent, kSize> events;
};

struct TracedThread {
  std::int64_t id = 0;  ///< the system's
  std::string name;
};

class EventBuffers {
 public:
  explicit EventBuffers(std::uint64_t memory);

  /// Of this thread; drops it at the limit.
  void add(const TraceEvent& event);
  /// The next block that is full, waiting until a quarter of the memory is in use, so that short traces are not written
  /// while they are recorded. Null: `close` was called.
  std::shared_ptr<EventBlock> wait();
  /// Ends `wait`; later events are ignored.
  void close();
  /// Everything else, after `close`: oldest first for each thread.
  std::vector<std::shared_ptr<EventBlock>> rest();

  std::vector<TracedThread> threads() const;
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  void release(std::shared_ptr<EventBlock> block);

 private:
  struct Local;
  static Local& local();
  bool replace(Local& mine);

  const std::uint64_t number_;  ///< of all buffers that there ever were, for the threads' own pointers
  const std::uint64_t most_;    ///< blocks
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<EventBlock>> full_;
  std::vector<std::shared_ptr<EventBlock>> open_;  ///< of each thread the one that it fills
  std::vector<TracedThread> threads_;
  std::uint64_t blocks_ = 0;  ///< that exist
  bool writing_ = false;
  std::atomic<bool> closed_ = false;
  std::atomic<std::uint64_t> dropped_ = 0;
};

}  // namespace tern
