// Total time covered by intervals with possible overlaps.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace tern {

class Intervals {
 public:
  void add(double begin, double end) { intervals_.emplace_back(begin, end); }
  bool empty() const { return intervals_.empty(); }

  /// Time from the first begin to the last end.
  double span() const {
    double first = 0, last = 0;
    for (const auto& [begin, end] : intervals_) {
      if (&begin == &intervals_.front().first) first = begin, last = end;
      first = std::min(first, begin);
      last = std::max(last, end);
    }
    return last - first;
  }
  double covered() {
    std::ranges::sort(intervals_);
    double sum = 0, covered_end = intervals_.empty() ? 0 : intervals_.front().first;
    for (const auto& [begin, end] : intervals_) {
      sum += std::max(0.0, end - std::max(begin, covered_end));
      covered_end = std::max(covered_end, end);
    }
    return sum;
  }

 private:
  std::vector<std::pair<double, double>> intervals_;
};

}  // namespace tern
