// Where threads put events: blocks of their own, which a writer takes when they are full. Memory is bounded.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/trace/event.h"

namespace tern {

/// One thread at a time fills it; others read the first `count` events.
struct EventBlock {
  static constexpr std::uint32_t kSize = 1024;
  /// From one event on they are of one thread. A block whose thread has ended goes to another.
  struct Part {
    std::uint32_t from, thread;  ///< thread: the system's number
  };
  std::vector<Part> parts;  ///< changes under the buffers' lock alone, never when the writer has the block
  std::atomic<std::uint32_t> count = 0;
  std::array<TraceEvent, kSize> events;
};

struct TracedThread {
  std::int64_t id = 0;  ///< the system's
  std::string name;
};

/// Belongs to a shared_ptr. Threads: any, but for rest().
class EventBuffers : public std::enable_shared_from_this<EventBuffers> {
 public:
  explicit EventBuffers(std::uint64_t memory);
  ~EventBuffers();
  EventBuffers(const EventBuffers&) = delete;
  EventBuffers& operator=(const EventBuffers&) = delete;

  /// Of this thread; drops it at the limit, and ignores it after `close`.
  void add(const TraceEvent& event);
  /// Counts an event that the caller could not make.
  void drop() { dropped_.fetch_add(1, std::memory_order_relaxed); }
  /// The next block that is full, waiting until a quarter of the memory is in use, so that short traces are not written
  /// while they are recorded. Null: `close` was called.
  std::unique_ptr<EventBlock> wait();
  /// Ends `wait`; later events are ignored.
  void close();
  /// Everything else, after `close`: oldest first for each thread. The blocks live as long as the buffers, because
  /// threads that still record may write behind the events that count.
  std::vector<const EventBlock*> rest() const;

  std::vector<TracedThread> threads() const;
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  void release(std::unique_ptr<EventBlock> block);

 private:
  struct Local;
  struct Leaver;
  static Local& local();
  bool replace(Local& mine);
  void leave(const Local& mine);
  std::unique_ptr<EventBlock> take_open(const EventBlock* block);

  const std::uint64_t number_;  ///< of all buffers that there ever were, for the threads' own pointers
  const std::uint64_t most_;    ///< blocks
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<EventBlock>> full_, open_, spare_;  ///< oldest first; of threads; of threads that ended
  std::vector<TracedThread> threads_;
  std::uint64_t blocks_ = 0;  ///< that exist
  bool writing_ = false;
  std::atomic<bool> closed_ = false;
  std::atomic<std::uint64_t> dropped_ = 0;
};

}  // namespace tern
