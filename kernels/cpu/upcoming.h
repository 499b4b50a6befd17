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
  UpcomingLines(std::span<const Upcoming> constants, std::int64_t begin, std::int64_t end, std::int64_t count)
      : next_(constants),
        begin_fraction_(fraction_before(begin, count)),
        fraction_(fraction_before(end, count) - begin_fraction_) {
    for (const Upcoming& u : constants) remaining_lines_ += lines_of(u);
    open_next();
  }

  /// Items [begin, end) of `count`.
  struct Slice {
    std::int64_t begin, end, count;
  };
  /// Takes the share of the thread with these channels of these lines; threads divide one or the other.
  static UpcomingLines slice_of(std::span<const Upcoming> constants, Slice lines, Slice channels) {
    const Slice& s = channels.end - channels.begin == channels.count ? lines : channels;
    return {constants, s.begin, s.end, s.count};
  }

  /// Returns the number of cache lines not yet taken.
  std::int64_t remaining_lines() const { return remaining_lines_; }
  /// Takes the next adjacent cache lines: `*count`, or fewer if the open constant has fewer; sets `*count`.
  const std::byte* take_lines(std::int64_t* count) {
    *count = std::min(*count, open_lines_);
    const std::byte* lines = position_;
    position_ += *count * kLine;
    open_lines_ -= *count;
    remaining_lines_ -= *count;
    if (open_lines_ == 0) open_next();
    return lines;
  }

 private:
  static double fraction_before(std::int64_t i, std::int64_t count) {
    return static_cast<double>(i) / static_cast<double>(std::max<std::int64_t>(count, 1));
  }
  std::int64_t lines_of(const Upcoming& u) const {
    return static_cast<std::int64_t>(fraction_ * static_cast<double>(u.end - u.begin)) / kLine;
  }
  /// Opens the next constant with lines for this thread.
  void open_next() {
    for (; open_lines_ == 0 && !next_.empty(); next_ = next_.subspan(1)) {
      const Upcoming& u = next_.front();
      open_lines_ = lines_of(u);
      position_ = u.data + static_cast<std::ptrdiff_t>(begin_fraction_ * static_cast<double>(u.size) +
                                                       fraction_ * static_cast<double>(u.begin));
    }
  }

  std::span<const Upcoming> next_;
  double begin_fraction_ = 0, fraction_ = 0;  ///< begin and size of this thread's part of each constant, 0 to 1
  const std::byte* position_ = nullptr;
  std::int64_t open_lines_ = 0, remaining_lines_ = 0;
};

}  // namespace tern::cpu
