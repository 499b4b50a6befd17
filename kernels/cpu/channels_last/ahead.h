// Prefetches the next weights during a product.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/products/float32/strided_microkernel.h"

namespace tern::channels_last {

/// Prefetches `rows` rows of `depth` floats, `row` apart, in `steps` steps of some cache lines each.
class Ahead {
 public:
  Ahead() = default;
  Ahead(const float* first, std::int64_t row, std::int64_t rows, std::int64_t depth, std::int64_t steps)
      : first_(first), row_(row), rows_(rows), lines_((depth + kLine - 1) / kLine) {
    step_ = (rows_ * lines_ + steps - 1) / std::max<std::int64_t>(1, steps);
  }

  /// The next step's lines, of one row.
  void step(strided_product::WindowProduct* p) {
    const std::int64_t count = position_ < rows_ * lines_ ? std::min(step_, lines_ - position_ % lines_) : 0;
    ask(count == 0 ? nullptr : first_ + position_ / lines_ * row_ + position_ % lines_ * kLine, count, p);
    position_ += count;
  }
  /// Has a product ask for lines, spread over it: too many at once would keep its own loads waiting.
  static void ask(const float* first, std::int64_t count, strided_product::WindowProduct* p) {
    const std::int64_t places =
        p->tap_count * ((p->depth + strided_product::kBetweenLines - 1) / strided_product::kBetweenLines);
    p->ahead = first;
    p->ahead_lines = (count + places - 1) / places;
  }

 private:
  static constexpr std::int64_t kLine = strided_product::kLine;
  const float* first_ = nullptr;
  std::int64_t row_ = 0, rows_ = 0, lines_ = 0, step_ = 0, position_ = 0;
};

}  // namespace tern::channels_last
