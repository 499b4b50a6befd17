// Loops with work stealing: each thread takes pieces of its own share, then pieces of other shares. A loop of fixed
// chunks would wait for interrupted cores and chunks with slower memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "threads/loop_recorder.h"
#include "threads/thread_pool.h"
#include "threads/threads.h"

namespace tern {

/// Hands out the pieces of a loop to one thread.
class Pieces {
 public:
  struct Range {
    std::int64_t begin = 0, end = 0;
    bool empty() const { return begin >= end; }
  };

  /// Remaining range of a share. Aligned to a cache line, because owner and thieves both write.
  struct alignas(64) Share {
    explicit Share(Range range) : remaining(pack(range)) {}
    std::atomic<std::uint64_t> remaining;  ///< begin in the upper half, end in the lower half
  };

  /// All of [0, n), for a single thread.
  explicit Pieces(std::int64_t n) : own_end_(n), whole_range_{0, n} {}
  Pieces(Share* shares, std::int64_t count, std::int64_t own_share, std::int64_t piece_size, bool steals)
      : shares_(shares), share_count_(count), own_share_(own_share), piece_size_(piece_size), steals_(steals) {
    own_end_ = static_cast<std::int64_t>(shares_[own_share_].remaining.load(std::memory_order_relaxed) & UINT32_MAX);
  }

  /// Returns the next piece of this thread's share, or half of another thread's remaining pieces; empty at the end. A
  /// share's last piece is left to its owner.
  Range next() {
    if (shares_ == nullptr) return std::exchange(whole_range_, {});
    if (const Range range = take_front(shares_[own_share_]); !range.empty()) return range;
    for (; steals_ && visited_shares_ < share_count_ - 1; ++visited_shares_) {
      if (const Range range = steal_back(shares_[(own_share_ + 1 + visited_shares_) % share_count_]); !range.empty())
        return range;
    }
    return {};
  }

  /// Original end of this thread's own share: pieces before are likely contiguous.
  std::int64_t own_end() const { return own_end_; }

  static constexpr std::uint64_t pack(Range range) {
    return static_cast<std::uint64_t>(range.begin) << 32 | static_cast<std::uint64_t>(range.end);
  }

 private:
  static Range unpack(std::uint64_t remaining) {
    return {static_cast<std::int64_t>(remaining >> 32), static_cast<std::int64_t>(remaining & UINT32_MAX)};
  }

  /// Takes a piece from the front of the owner's share, close to the owner's cached data.
  Range take_front(Share& share) const {
    std::uint64_t remaining = share.remaining.load(std::memory_order_relaxed);
    for (;;) {
      const Range range = unpack(remaining);
      const std::int64_t split = std::min(range.end, range.begin + piece_size_);
      if (range.empty() ||
          share.remaining.compare_exchange_weak(remaining, pack({split, range.end}), std::memory_order_relaxed))
        return {range.begin, split};
    }
  }

  /// Takes half of the remaining whole pieces from the back of another thread's share; empty below two pieces.
  Range steal_back(Share& share) const {
    std::uint64_t remaining = share.remaining.load(std::memory_order_relaxed);
    for (;;) {
      const Range range = unpack(remaining);
      const std::int64_t split = range.end - (range.end - range.begin) / piece_size_ / 2 * piece_size_;
      if (split >= range.end || range.empty()) return {};
      if (share.remaining.compare_exchange_weak(remaining, pack({range.begin, split}), std::memory_order_relaxed))
        return {split, range.end};
    }
  }

  Share* shares_ = nullptr;
  std::int64_t share_count_ = 1, own_share_ = 0, piece_size_ = 1, visited_shares_ = 0, own_end_ = 0;
  bool steals_ = false;
  Range whole_range_;
};

/// Calls f(pieces) on as many threads as get `grain` items of [0, n) each. f prepares its thread once, then takes
/// pieces of at least `piece_size` items (except the last) until none is left. Results must not depend on the
/// assignment of pieces.
template <class F>
void parallel_pieces(std::int64_t n, std::int64_t piece_size, std::int64_t grain, F&& f, std::int64_t chunk_reads = 0) {
  constexpr std::int64_t kMaxShares = 256, kMaxItems = UINT32_MAX;
  if (n <= 0) return;
  const std::int64_t count =
      std::min<std::int64_t>({Threads::current().count(), n / std::max<std::int64_t>(grain, 1), kMaxShares});
  if (count <= 1 || n > kMaxItems) {
    Pieces all(n);
    f(all);
    return;
  }
  const LoopRecorder* recorder = LoopRecorder::current();
  struct Loop {
    F& f;
    std::int64_t count, piece_size;
    bool steals;  // false if chunks run in turn: the first chunk would take everything
    std::mutex mutex;
    std::exception_ptr error;
    Pieces::Share* shares;
  } loop{f,  count, piece_size, recorder == nullptr || recorder->mode() == LoopRecorder::Mode::together,
         {}, {},    nullptr};
  alignas(Pieces::Share) std::byte memory[kMaxShares * sizeof(Pieces::Share)];
  loop.shares = reinterpret_cast<Pieces::Share*>(memory);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t begin = i * (n / count) + std::min(i, n % count), size = n / count + (i < n % count ? 1 : 0);
    std::construct_at(loop.shares + i, Pieces::Range{begin, begin + size});
  }
  const auto part = [](void* context, std::int64_t share) {
    auto& shared_loop = *static_cast<Loop*>(context);
    try {
      Pieces pieces(shared_loop.shares, shared_loop.count, share, shared_loop.piece_size, shared_loop.steals);
      shared_loop.f(pieces);
    } catch (...) {
      const std::lock_guard lock(shared_loop.mutex);
      if (!shared_loop.error) shared_loop.error = std::current_exception();
    }
  };
  ThreadPool::shared().run(count, part, &loop, {chunk_reads, n / std::max<std::int64_t>(piece_size, 1)});
  if (loop.error) std::rethrow_exception(loop.error);
}

}  // namespace tern
