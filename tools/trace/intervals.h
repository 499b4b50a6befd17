// Total time covered by intervals with possible overlaps.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace tern {

class Intervals {
 public:
  void add(double begin, double end) { all_.emplace_back(begin, end); }
  bool empty() const { return all_.empty(); }

  /// Time from the first begin to the last end.
  double span() const {
    double first = 0, last = 0;
    for (const auto& [begin, end] : all_) {
      if (&begin == &all_.front().first) first = begin, last = end;
      first = std::min(first, begin);
      last = std::max(last, end);
    }
    return last - first;
  }
  double covered() {
    std::ranges::sort(all_);
    double sum = 0, reached = all_.empty() ? 0 : all_.front().first;
    for (const auto& [begin, end] : all_) {
      sum += std::max(0.0, end - std::max(begin, reached));
      reached = std::max(reached, end);
    }
    return sum;
  }

 private:
  std::vector<std::pair<double, double>> all_;
};

}  // namespace tern
