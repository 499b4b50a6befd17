// Event storage: each thread fills its own blocks, and a writer takes full blocks. Memory is bounded.
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

/// Filled by one thread at a time; other threads read the first `count` events.
struct EventBlock {
  static constexpr std::uint32_t kSize = 1024;
  /// A run of events of one thread, starting at event `first`. Blocks of ended threads are reused.
  struct Segment {
    std::uint32_t first, thread;  ///< thread: the system's number
  };
  std::vector<Segment> segments;  ///< changed only under the buffers' lock, never after the writer has taken the block
  std::atomic<std::uint32_t> count = 0;
  std::array<TraceEvent, kSize> events;
};

struct TracedThread {
  std::int64_t id = 0;  ///< the system's thread id
  std::string name;
};

/// Owned by a shared_ptr. Thread-safe except remaining_blocks().
class EventBuffers : public std::enable_shared_from_this<EventBuffers> {
 public:
  explicit EventBuffers(std::uint64_t memory);
  ~EventBuffers();
  EventBuffers(const EventBuffers&) = delete;
  EventBuffers& operator=(const EventBuffers&) = delete;

  /// Records an event of this thread; drops the event at the limit, and ignores events after `close`.
  void add(const TraceEvent& event);
  /// Counts an event not created by the caller.
  void drop() { dropped_.fetch_add(1, std::memory_order_relaxed); }
  /// Returns the next full block. Waits until a quarter of the memory is in use, so that short traces are not written
  /// during recording. Null after `close`.
  std::unique_ptr<EventBlock> wait();
  /// Ends `wait`; later events are ignored.
  void close();
  /// Returns all remaining blocks after `close`, oldest first per thread. The blocks live as long as the buffers,
  /// because recording threads may still write behind the counted events.
  std::vector<const EventBlock*> remaining_blocks() const;

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

  const std::uint64_t number_;      ///< unique number of these buffers, for the threads' own pointers
  const std::uint64_t max_blocks_;  ///< blocks
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<EventBlock>> full_, open_, spare_;  ///< oldest first; of running threads; of ended
                                                                  ///< threads
  std::vector<TracedThread> threads_;
  std::uint64_t blocks_ = 0;  ///< existing blocks
  bool writing_ = false;
  std::atomic<bool> closed_ = false;
  std::atomic<std::uint64_t> dropped_ = 0;
};

}  // namespace tern
