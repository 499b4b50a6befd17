// Stores blocks of float sums as rows of results, on aarch64.
#pragma once

#include <arm_neon.h>

#include <algorithm>
#include <cstring>

#include "kernels/cpu/products/tiles/rows.h"

namespace tern::tiles {
namespace {  // files of other instruction sets have their own

/// Does the work of RowStore: rows of 32 sums.
class PlainFloatStore {
 public:
  explicit PlainFloatStore(const RowResults& results) : r_(results), is_dense_(results.pitch == results.width) {}

  void block(const float* sums, std::int64_t row, std::int64_t count, std::int64_t column) {
    row += r_.begin;
    const std::int64_t columns = std::min(kBlock, r_.columns - column), lines = is_dense_ ? 0 : row / r_.pitch;
    std::int64_t in_line = row - lines * r_.pitch;
    const std::int64_t begin = r_.first + lines * r_.width + (is_dense_ ? in_line : std::min(in_line, r_.width)),
                       number = begin * r_.ld + r_.offset + column;
    alignas(64) float bias[kBlock] = {};
    if (r_.bias != nullptr) std::copy_n(r_.bias + column, columns, bias);
    alignas(64) float kept[kBlockFloats];
    std::int64_t results = 0;
    for (std::int64_t i = 0; i < count; ++i, sums += kBlock, ++in_line) {
      if (!is_dense_ && in_line == r_.pitch) in_line = 0;
      if (!is_dense_ && in_line >= r_.width) continue;
      add_bias(sums, bias, columns, kept + results * kBlock);
      ++results;
    }
    if (results == 0) return;
    if (r_.finish.epilogue != nullptr) {
      if (!r_.narrow && !r_.accumulate && r_.finish.store(kept, kBlock, results, columns, number, r_.ld)) return;
      r_.finish.apply(kept, kBlock, results, columns, number, r_.ld);
    }
    std::byte* to = r_.y + number * (r_.narrow ? 2 : 4);
    for (std::int64_t i = 0; i < results; ++i, to += r_.ld * (r_.narrow ? 2 : 4))
      store_row(kept + i * kBlock, columns, to);
  }
  bool finite() const { return vmaxvq_u32(vmvnq_u32(vceqq_f32(strange_, strange_))) == 0; }

 private:
  void add_bias(const float* sums, const float* bias, std::int64_t columns, float* kept) {
    for (std::int64_t i = 0; i < kBlock; i += 4)
      vst1q_f32(kept + i, vaddq_f32(vld1q_f32(sums + i), vld1q_f32(bias + i)));
    // Columns that the weight lacks have sums of zeros, or none.
    std::fill(kept + columns, kept + kBlock, 0.0F);
    for (std::int64_t i = 0; i < kBlock; i += 4) strange_ = vfmaq_f32(strange_, vld1q_f32(kept + i), vdupq_n_f32(0));
  }

  void store_row(float* kept, std::int64_t columns, std::byte* to) const {
    if (r_.narrow) {
      bfloat16_t narrow[kBlock];
      for (std::int64_t i = 0; i < kBlock; i += 4) vst1_bf16(narrow + i, vcvt_bf16_f32(vld1q_f32(kept + i)));
      std::memcpy(to, narrow, static_cast<std::size_t>(columns) * 2);
      return;
    }
    if (r_.accumulate) {
      float sums[kBlock];
      std::memcpy(sums, to, static_cast<std::size_t>(columns) * 4);
      for (std::int64_t i = 0; i < columns; ++i) kept[i] += sums[i];
    }
    std::memcpy(to, kept, static_cast<std::size_t>(columns) * 4);
  }

  const RowResults& r_;
  bool is_dense_;                            ///< rows are results
  float32x4_t strange_ = vdupq_n_f32(0.0F);  ///< NaN where a sum was not finite
};

}  // namespace
}  // namespace tern::tiles
