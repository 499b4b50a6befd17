// A block of keys and values on matrix tiles, split once for all queries that look at it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "kernels/cpu/products/tiles/rounded_keys.h"
#include "kernels/cpu/products/tiles/split_pack.h"

namespace tern::tiles {

/// Belongs to one thread, and uses its thread_buffer while it lives.
class KeyBlock {
 public:
  /// Holds at most `keys` keys of `width` elements, and values of `out_width`.
  KeyBlock(std::int64_t keys, std::int64_t width, std::int64_t out_width, int parts = kAllParts);
  static bool suits(std::int64_t queries, std::int64_t keys, std::int64_t width, std::int64_t out_width);

  /// Makes the parts of n keys and values, whose rows are in one piece each. False where some number is too large for
  /// that, or not finite, or has a type that is not split.
  bool split(const TensorView& keys, const TensorView& values, std::int64_t n);
  /// scores [rows, n] (rows n apart) = q k^T, q's rows `row` elements apart. False where one is not finite.
  bool scores(const float* q, std::int64_t row, std::int64_t rows, float* to);
  /// sums [rows, out_width] += weights [rows, n] v, with weights from 0 to 1.
  void add_values(const float* weights, std::int64_t rows, float* sums);

 private:
  struct Side {
    std::byte* data = nullptr;
    std::vector<std::int64_t> steps;
    std::vector<Destination> tiles;
    void resize(std::int64_t columns, std::int64_t k, int of);
  };
  std::int64_t width_, out_width_, n_ = 0;
  int part_count_;  ///< parts
  Side keys_, values_;
  std::optional<RoundedKeys> rounded_;  ///< replaces both for one part
};

}  // namespace tern::tiles
