#include "runtime/trace/buffers.h"

#include <algorithm>
#include <utility>

#include "platform/thread.h"

namespace tern {
namespace {

std::atomic<std::uint64_t> buffers_made = 0;

}  // namespace

/// A thread's reference to its last buffers. Trivially destructible, so usable until the very end of the thread.
struct EventBuffers::Local {
  std::uint64_t number = 0;     ///< number of the buffers; other buffers ignore the other members
  EventBlock* block = nullptr;  ///< owned by the buffers
  std::uint32_t thread = 0;
  bool ended = false;  ///< true after the thread's cleanup: a new block would never be returned
};

EventBuffers::Local& EventBuffers::local() {
  static thread_local Local mine;
  return mine;
}

/// Returns a thread's block at the end of the thread.
struct EventBuffers::Leaver {
  ~Leaver() {
    Local& mine = local();
    mine.ended = true;
    if (const auto used = buffers.lock()) used->leave(mine);
    mine.block = nullptr;
  }
  std::weak_ptr<EventBuffers> buffers;
};

EventBuffers::EventBuffers(std::uint64_t memory)
    : number_(++buffers_made), max_blocks_(std::max<std::uint64_t>(4, memory / sizeof(EventBlock))) {}

EventBuffers::~EventBuffers() = default;

void EventBuffers::add(const TraceEvent& event) {
  Local& mine = local();
  if (mine.number != number_ || mine.block == nullptr ||
      mine.block->count.load(std::memory_order_relaxed) == EventBlock::kSize) {
    if (closed_.load(std::memory_order_relaxed) || !replace(mine)) return;
  }
  EventBlock& block = *mine.block;
  const std::uint32_t at = block.count.load(std::memory_order_relaxed);
  block.events[at] = event;
  block.count.store(at + 1, std::memory_order_release);
}

/// Gives this thread a block with free space. Returns false if the trace has ended or the limit is reached (counted as
/// dropped).
bool EventBuffers::replace(Local& mine) {
  if (mine.ended) {
    drop();
    return false;
  }
  static thread_local Leaver leaver;
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  if (mine.number != number_) {
    mine = {number_, nullptr, platform::thread_number(), false};
    leaver.buffers = weak_from_this();
    threads_.push_back({mine.thread, platform::thread_name()});
  }
  if (mine.block != nullptr) {
    full_.push_back(take_open(std::exchange(mine.block, nullptr)));
    if (!writing_ && full_.size() * 4 >= max_blocks_) {
      writing_ = true;
      changed_.notify_one();
    }
  }
  if (spare_.empty() && blocks_ < max_blocks_) {
    try {
      spare_.push_back(std::make_unique<EventBlock>());
      ++blocks_;
    } catch (const std::bad_alloc&) {
      // Out of memory: losing events is better than failing the run.
    }
  }
  if (spare_.empty()) {
    drop();
    return false;
  }
  EventBlock& block = *spare_.back();
  block.segments.push_back({block.count.load(std::memory_order_relaxed), mine.thread});
  open_.push_back(std::move(spare_.back()));
  spare_.pop_back();
  mine.block = &block;
  return true;
}

std::unique_ptr<EventBlock> EventBuffers::take_open(const EventBlock* block) {
  const auto at = std::ranges::find(open_, block, &std::unique_ptr<EventBlock>::get);
  std::swap(*at, open_.back());
  std::unique_ptr<EventBlock> taken = std::move(open_.back());
  open_.pop_back();
  return taken;
}

/// The thread ends.
void EventBuffers::leave(const Local& mine) {
  const std::lock_guard lock(mutex_);
  if (closed_ || mine.block == nullptr) return;
  const bool full = mine.block->count.load(std::memory_order_relaxed) == EventBlock::kSize;
  (full ? full_ : spare_).push_back(take_open(mine.block));
}

std::unique_ptr<EventBlock> EventBuffers::wait() {
  std::unique_lock lock(mutex_);
  if (full_.empty()) writing_ = false;
  changed_.wait(lock, [&] { return closed_ || (writing_ && !full_.empty()); });
  if (closed_) return nullptr;
  std::unique_ptr<EventBlock> block = std::move(full_.front());
  full_.erase(full_.begin());
  return block;
}

void EventBuffers::release(std::unique_ptr<EventBlock> block) {
  block.reset();
  const std::lock_guard lock(mutex_);
  --blocks_;
}

void EventBuffers::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

std::vector<const EventBlock*> EventBuffers::remaining_blocks() const {
  const std::lock_guard lock(mutex_);
  std::vector<const EventBlock*> blocks;
  for (const auto* list : {&full_, &spare_, &open_}) {
    for (const auto& block : *list) blocks.push_back(block.get());
  }
  return blocks;
}

std::vector<TracedThread> EventBuffers::threads() const {
  const std::lock_guard lock(mutex_);
  return threads_;
}

}  // namespace tern
