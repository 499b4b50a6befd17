// A weight of integers of 8 bits in the order in which a method reads it, and the sums of its columns.
#pragma once

#include "kernels/cpu/products/int8/methods.h"

namespace tern::int8 {

/// n columns of k elements, so many bytes between columns and between their elements.
struct WeightView {
  const std::byte* data = nullptr;
  std::int64_t n = 0, k = 0, column = 0, element = 0;
};

/// A column as it is packed: stretches, each of which begins a step. Element i of a stretch is element
/// `first + i * stride` of the column.
struct PackedStretch {
  std::int64_t first = 0, size = 0, stride = 1;
};

class PackedInt8Weight {
 public:
  PackedInt8Weight() = default;
  PackedInt8Weight(const Method& method, std::int64_t n, std::int64_t steps)
      : layout_(method.layout), n_(n), steps_(steps) {}

  std::int64_t steps() const { return steps_; }
  std::int64_t blocks() const { return (n_ + kBlock - 1) / kBlock; }
  std::int64_t bytes() const { return blocks() * block_bytes(); }
  /// Packs blocks [begin, end). Zeros fill up. `sums` gets the columns' sums, whole blocks of them.
  void pack(const WeightView& weight, bool with_sign, std::span<const PackedStretch> stretches, IndexRange blocks,
            std::byte* to, std::int32_t* sums) const;

 private:
  std::int64_t block_bytes() const { return kBlock * steps_ * kStep; }
  /// The place of a group of four elements of a column, from element `k` of the packed ones on.
  std::byte* group(std::byte* block, std::int64_t column, std::int64_t k) const;

  PackedWeightLayout layout_ = PackedWeightLayout::rows;
  std::int64_t n_ = 0, steps_ = 0;
};

constexpr std::int64_t steps_of(std::int64_t k) {
  return (k + kStep - 1) / kStep;
}

}  // namespace tern::int8
