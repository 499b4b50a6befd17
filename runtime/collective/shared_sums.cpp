#include "runtime/collective/shared_sums.h"

#include <tern/error.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "runtime/collective/call.h"
#include "runtime/collective/messages.h"
#include "runtime/collective/reduce.h"

namespace tern {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kSlot = 32 << 10;
/// Most bytes read by each rank from all others; above, reducing one share per rank is faster.
constexpr std::size_t kMaxReadBytes = 4 * kSlot;

}  // namespace

/// Memory of one rank, written only by that rank; zeros at first.
struct SharedSums::Block {
  std::atomic<std::uint64_t> written;  ///< number of calls with elements in the slots
  std::atomic<std::uint64_t> tags[2];
  alignas(kAlignment) std::byte slots[2][kSlot];
};

SharedSums::SharedSums(Transport& transport, int rank, int ranks) : transport_(transport), rank_(rank), ranks_(ranks) {
  static_assert(sizeof(Block) == kBytes && alignof(Block) == kAlignment &&
                std::atomic<std::uint64_t>::is_always_lock_free);
}

SharedSums::Block& SharedSums::block(int rank) const {
  return *reinterpret_cast<Block*>(transport_.shared()[static_cast<std::size_t>(rank)]);
}

bool SharedSums::supports_size(std::size_t bytes) const {
  return bytes > 0 && bytes <= kSlot && bytes * static_cast<std::size_t>(ranks_) <= kMaxReadBytes &&
         !transport_.shared().empty();
}

/// Mismatched calls have different tags and never meet: the ranks' watch reports them.
void SharedSums::wait_for(int rank, std::uint64_t tag, Clock::time_point end) const {
  constexpr int kSpins = 256, kYields = 16;
  constexpr auto kEager = std::chrono::milliseconds(2);
  const Block& other = block(rank);
  Clock::time_point begin{};
  for (int turn = 1;; ++turn) {
    if (other.written.load(std::memory_order_acquire) >= calls_ &&
        other.tags[calls_ % 2].load(std::memory_order_relaxed) == tag)
      return;
    if (turn < kSpins) continue;
    if (turn % kYields != 0) {
      std::this_thread::yield();  // the other rank may need this processor
      continue;
    }
    if (transport_.interrupted()) fail(ErrorCode::io, "the group has been stopped");
    const Clock::time_point now = Clock::now();
    if (begin == Clock::time_point{}) begin = now;
    if (now >= end) throw WaitedTooLong{rank};
    if (now - begin > kEager) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

// A slot is written again two calls later. By then all ranks have written for the call between, so they have read the
// slot.
void SharedSums::all_reduce(const Collective& c, std::uint64_t tag, Clock::time_point end) {
  const std::size_t bytes = bytes_of(c, c.count), slot = ++calls_ % 2;
  Block& mine = block(rank_);
  std::memcpy(mine.slots[slot], c.input, bytes);
  mine.tags[slot].store(tag, std::memory_order_relaxed);
  mine.written.store(calls_, std::memory_order_release);
  for (int r = 0; r < ranks_; ++r) {
    if (r != rank_) wait_for(r, tag, end);
  }
  const void* joined = block(0).slots[slot];
  for (int r = 1; r < ranks_; ++r) {
    join(c.reduce, c.dtype, c.output, joined, block(r).slots[slot], c.count);
    joined = c.output;
  }
  finish(c.reduce, c.dtype, c.output, c.count, ranks_);
}

}  // namespace tern
