// Loops with work stealing: each thread takes pieces of its own share, then pieces of other shares. A loop of fixed
// parts would wait for interrupted cores and parts with slower memory.
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

/// Iterates over the pieces of one thread.
class Pieces {
 public:
  struct Range {
    std::int64_t begin = 0, end = 0;
    bool empty() const { return begin >= end; }
  };

  /// Remaining range of a share. Aligned to a cache line, because owner and thieves both write.
  struct alignas(64) Share {
    explicit Share(Range r) : left(packed(r)) {}
    std::atomic<std::uint64_t> left;  ///< begin in the upper half, end in the lower half
  };

  /// All of [0, n), for a single thread.
  explicit Pieces(std::int64_t n) : own_end_(n), all_{0, n} {}
  Pieces(Share* shares, std::int64_t count, std::int64_t own, std::int64_t piece, bool helps)
      : shares_(shares), count_(count), own_(own), piece_(piece), helps_(helps) {
    own_end_ = static_cast<std::int64_t>(shares_[own_].left.load(std::memory_order_relaxed) & UINT32_MAX);
  }

  /// Returns the next piece of this thread's share, or half of another thread's remaining pieces; empty at the end. A
  /// share's last piece is left to its owner.
  Range next() {
    if (shares_ == nullptr) return std::exchange(all_, {});
    if (const Range r = take(shares_[own_]); !r.empty()) return r;
    for (; helps_ && helped_ < count_ - 1; ++helped_) {
      if (const Range r = help(shares_[(own_ + 1 + helped_) % count_]); !r.empty()) return r;
    }
    return {};
  }

  /// Original end of this thread's own share: pieces before are likely contiguous.
  std::int64_t own_end() const { return own_end_; }

  static constexpr std::uint64_t packed(Range r) {
    return static_cast<std::uint64_t>(r.begin) << 32 | static_cast<std::uint64_t>(r.end);
  }

 private:
  static Range unpacked(std::uint64_t left) {
    return {static_cast<std::int64_t>(left >> 32), static_cast<std::int64_t>(left & UINT32_MAX)};
  }

  /// Takes from the front, close to the owner's cached data.
  Range take(Share& share) const {
    std::uint64_t left = share.left.load(std::memory_order_relaxed);
    for (;;) {
      const Range r = unpacked(left);
      const std::int64_t middle = std::min(r.end, r.begin + piece_);
      if (r.empty() || share.left.compare_exchange_weak(left, packed({middle, r.end}), std::memory_order_relaxed))
        return {r.begin, middle};
    }
  }

  /// Takes from the back.
  Range help(Share& share) const {
    std::uint64_t left = share.left.load(std::memory_order_relaxed);
    for (;;) {
      const Range r = unpacked(left);
      const std::int64_t middle = r.end - (r.end - r.begin) / piece_ / 2 * piece_;
      if (middle >= r.end || r.empty()) return {};
      if (share.left.compare_exchange_weak(left, packed({r.begin, middle}), std::memory_order_relaxed))
        return {middle, r.end};
    }
  }

  Share* shares_ = nullptr;
  std::int64_t count_ = 1, own_ = 0, piece_ = 1, helped_ = 0, own_end_ = 0;
  bool helps_ = false;
  Range all_;
};

/// Calls f(pieces) on as many threads as get `grain` items of 0..n each. f prepares its thread once, then takes pieces
/// of at least `piece` items (except the last) until none is left. Results must not depend on the assignment of pieces.
template <class F>
void parallel_pieces(std::int64_t n, std::int64_t piece, std::int64_t grain, F&& f, std::int64_t part_reads = 0) {
  constexpr std::int64_t kMostShares = 256, kMostItems = UINT32_MAX;
  if (n <= 0) return;
  const std::int64_t count =
      std::min<std::int64_t>({Threads::current().count(), n / std::max<std::int64_t>(grain, 1), kMostShares});
  if (count <= 1 || n > kMostItems) {
    Pieces all(n);
    f(all);
    return;
  }
  const LoopRecorder* recorder = LoopRecorder::current();
  struct Loop {
    F& f;
    std::int64_t count, piece;
    bool helps;  // false if parts run in turn: the first part would take everything
    std::mutex mutex;
    std::exception_ptr error;
    Pieces::Share* shares;
  } loop{f, count, piece, recorder == nullptr || recorder->mode() == LoopRecorder::Mode::together, {}, {}, nullptr};
  alignas(Pieces::Share) std::byte memory[kMostShares * sizeof(Pieces::Share)];
  loop.shares = reinterpret_cast<Pieces::Share*>(memory);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t begin = i * (n / count) + std::min(i, n % count), size = n / count + (i < n % count ? 1 : 0);
    std::construct_at(loop.shares + i, Pieces::Range{begin, begin + size});
  }
  const auto part = [](void* context, std::int64_t p) {
    auto& l = *static_cast<Loop*>(context);
    try {
      Pieces pieces(l.shares, l.count, p, l.piece, l.helps);
      l.f(pieces);
    } catch (...) {
      const std::lock_guard lock(l.mutex);
      if (!l.error) l.error = std::current_exception();
    }
  };
  ThreadPool::shared().run(count, part, &loop, {part_reads, n / std::max<std::int64_t>(piece, 1)});
  if (loop.error) std::rethrow_exception(loop.error);
}

}  // namespace tern
