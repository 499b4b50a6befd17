// A thread's part of the constants that later nodes read: lines of the cache to ask for while something else is
// computed, as memory has nothing else to do then.
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
  /// Of the thread that does [begin, end) of `count`: it reads about the same part of the constants.
  UpcomingLines(std::span<const Upcoming> all, std::int64_t begin, std::int64_t end, std::int64_t count)
      : next_(all), from_(share(begin, count)), part_(share(end, count) - from_) {
    for (const Upcoming& u : all) left_ += lines_of(u);
    open();
  }

  /// Items [begin, end) of `count`.
  struct Slice {
    std::int64_t begin, end, count;
  };
  /// Of the thread that makes these channels of these lines, as threads divide one or the other.
  static UpcomingLines of(std::span<const Upcoming> all, Slice lines, Slice channels) {
    const Slice& s = channels.end - channels.begin == channels.count ? lines : channels;
    return {all, s.begin, s.end, s.count};
  }

  /// Lines that were not taken yet.
  std::int64_t left() const { return left_; }
  /// The next lines, side by side: `count` of them, or as many as there are.
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
  /// Goes to the next constant that has lines for this thread.
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
