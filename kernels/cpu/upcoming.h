// A thread's share of the constants of later nodes: cache lines to prefetch during computation, while memory is idle.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "kernels/kernel.h"

namespace tern::cpu {

class UpcomingLines {
 public:
  static constexpr std::int64_t kLine = 64;  ///< bytes

  UpcomingLines() = default;
  /// Takes the share of the thread that computes [begin, end) of `count`: about the same share of the constants.
  UpcomingLines(std::span<const Upcoming> all, std::int64_t begin, std::int64_t end, std::int64_t count)
      : next_(all), from_(share(begin, count)), part_(share(end, count) - from_) {
    for (const Upcoming& u : all) left_ += lines_of(u);
    open();
  }

  /// Items [begin, end) of `count`.
  struct Slice {
    std::int64_t begin, end, count;
  };
  /// Takes the share of the thread with these channels of these lines; threads divide one or the other.
  static UpcomingLines of(std::span<const Upcoming> all, Slice lines, Slice channels) {
    const Slice& s = channels.end - channels.begin == channels.count ? lines : channels;
    return {all, s.begin, s.end, s.count};
  }

  /// Returns the number of lines not yet taken.
  std::int64_t left() const { return left_; }
  /// Takes the next adjacent lines: `count`, or fewer if fewer exist.
  const std::byte* take(std::int64_t* count) {
    *count = std::min(*count, lines_);
    const std::byte* taken = at_;
    at_ += *count * kLine;
    lines_ -= *count;
    left_ -= *count;
    if (lines_ == 0) open();
    return taken;
  }

 private:
  static double share(std::int64_t i, std::int64_t count) {
    return static_cast<double>(i) / static_cast<double>(std::max<std::int64_t>(count, 1));
  }
  std::int64_t lines_of(const Upcoming& u) const {
    return static_cast<std::int64_t>(part_ * static_cast<double>(u.end - u.begin)) / kLine;
  }
  /// Opens the next constant with lines for this thread.
  void open() {
    for (; lines_ == 0 && !next_.empty(); next_ = next_.subspan(1)) {
      const Upcoming& u = next_.front();
      lines_ = lines_of(u);
      at_ = u.data +
            static_cast<std::ptrdiff_t>(from_ * static_cast<double>(u.size) + part_ * static_cast<double>(u.begin));
    }
  }

  std::span<const Upcoming> next_;
  double from_ = 0, part_ = 0;
  const std::byte* at_ = nullptr;
  std::int64_t lines_ = 0, left_ = 0;
};

}  // namespace tern::cpu
