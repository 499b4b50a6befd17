#include "runtime/trace/buffers.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace tern {
namespace {

std::atomic<std::uint64_t> buffers_made = 0;

std::string name_of_this_thread() {
  std::array<char, 32> name{};
  pthread_getname_np(pthread_self(), name.data(), name.size());
  return name.data();
}

}  // namespace

/// What a thread keeps of the buffers that it used last.
struct EventBuffers::Local {
  std::uint64_t number = 0;
  std::size_t place = 0;  ///< in EventBuffers::open_
  std::shared_ptr<EventBlock> block;
};

EventBuffers::Local& EventBuffers::local() {
  static thread_local Local mine;
  return mine;
}

EventBuffers::EventBuffers(std::uint64_t memory)
    : number_(++buffers_made), most_(std::max<std::uint64_t>(4, memory / sizeof(EventBlock))) {}

void EventBuffers::add(const TraceEvent& event) {
  Local& mine = local();
  if (mine.number != number_ || mine.block == nullptr ||
      mine.block->count.load(std::memory_order_relaxed) == EventBlock::kSize) {
    if (closed_.load(std::memory_order_relaxed)) return;
    if (!replace(mine)) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  }
  EventBlock& block = *mine.block;
  const std::uint32_t at = block.count.load(std::memory_order_relaxed);
  block.events[at] = event;
  block.count.store(at + 1, std::memory_order_release);
}

/// Gives this thread an empty block; false at the limit.
bool EventBuffers::replace(Local& mine) {
  const std::lock_guard lock(mutex_);
  if (closed_) return true;
  if (mine.number != number_) {
    mine.block = nullptr;
    mine.number = number_;
    mine.place = threads_.size();
    threads_.push_back({static_cast<std::int64_t>(syscall(SYS_gettid)), name_of_this_thread()});
    open_.emplace_back();
  }
  if (mine.block != nullptr) {
    full_.push_back(std::exchange(mine.block, nullptr));
    open_[mine.place] = nullptr;
    if (!writing_ && full_.size() * 4 >= most_) {
      writing_ = true;
      changed_.notify_one();
    }
  }
  if (blocks_ >= most_) return false;
  try {
    mine.block = std::make_shared<EventBlock>();
  } catch (const std::bad_alloc&) {
    return false;  // a trace is not worth a run
  }
  ++blocks_;
  mine.block->thread = static_cast<std::uint32_t>(threads_[mine.place].id);
  open_[mine.place] = mine.block;
  return true;
}

std::shared_ptr<EventBlock> EventBuffers::wait() {
  std::unique_lock lock(mutex_);
  if (full_.empty()) writing_ = false;
  changed_.wait(lock, [&] { return closed_ || (writing_ && !full_.empty()); });
  if (closed_) return nullptr;
  std::shared_ptr<EventBlock> block = std::move(full_.front());
  full_.pop_front();
  return block;
}

void EventBuffers::release(std::shared_ptr<EventBlock> block) {
  block.reset();
  const std::lock_guard lock(mutex_);
  --blocks_;
}

void EventBuffers::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

std::vector<std::shared_ptr<EventBlock>> EventBuffers::rest() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<EventBlock>> blocks(full_.begin(), full_.end());
  full_.clear();
  for (const auto& block : open_) {
    if (block != nullptr) blocks.push_back(block);
  }
  return blocks;
}

std::vector<TracedThread> EventBuffers::threads() const {
  const std::lock_guard lock(mutex_);
  return threads_;
}

}  // namespace tern
