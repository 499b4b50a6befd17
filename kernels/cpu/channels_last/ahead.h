// Asks for weights that will be read next, while others are multiplied.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tern::channels_last {

/// `rows` rows of `depth` floats, `row` apart, in `steps` steps of some lines of the cache each.
class Ahead {
 public:
  Ahead() = default;
  Ahead(const float* first, std::int64_t row, std::int64_t rows, std::int64_t depth, std::int64_t steps)
      : first_(first),
        row_(row),
        rows_(rows),
        lines_((depth + kLine - 1) / kLine),
        step_((rows * lines_ + steps - 1) / std::max<std::int64_t>(1, steps)) {}
  void step() {
    for (std::int64_t i = 0; i < step_ && at_ < rows_ * lines_; ++i, ++at_)
      __builtin_prefetch(first_ + at_ / lines_ * row_ + at_ % lines_ * kLine, 0, 2);
  }

 private:
  static constexpr std::int64_t kLine = 16;
  const float* first_ = nullptr;
  std::int64_t row_ = 0, rows_ = 0, lines_ = 0, step_ = 0, at_ = 0;
};

}  // namespace tern::channels_last
