// A block of keys and values in bfloat16, packed once for all queries that look at it.
#pragma once

#include <cstddef>

#include "kernels/cpu/products/tiles/rows.h"

namespace tern::tiles {

/// Belongs to one thread, and uses its thread_buffer while it lives.
class RoundedKeys {
 public:
  /// True if products of rows gain anything for one head, where they pay at all.
  static bool suits(std::int64_t queries, std::int64_t keys, std::int64_t width, std::int64_t out_width);
  /// Holds at most `keys` keys of `width` elements, and values of `out_width`.
  RoundedKeys(std::int64_t keys, std::int64_t width, std::int64_t out_width);

  /// Packs n keys and values, rows so many elements apart. False where a value is not finite.
  bool pack(Elements keys, std::int64_t key_row, Elements values, std::int64_t value_row, std::int64_t n);
  /// Do the work of the functions of KeyBlock.
  bool scores(const float* q, std::int64_t row, std::int64_t rows, float* to);
  void add_values(const float* weights, std::int64_t rows, float* sums);

 private:
  std::int64_t width_, out_width_, n_ = 0;
  std::byte *keys_, *values_;
  RowSteps key_steps_, value_steps_;
};

}  // namespace tern::tiles
