// Stores blocks of sums as rows of results, on processors without masked registers.
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/cpu/products/int8/methods.h"

namespace tern::int8 {
namespace {  // files of other instruction sets have their own

class PlainStore {
 public:
  PlainStore(const RowResults& results, const Task& task)
      : r_(results), stores_sums_(task.stores_sums), is_dense_(results.pitch == results.width) {}

  /// Does the work of tiles::RowStore: rows of 32 sums.
  void block(const std::int32_t* sums, std::int64_t row, std::int64_t count, std::int64_t column) const {
    row += r_.begin;
    const std::int64_t columns = std::min(kBlock, r_.columns - column), lines = is_dense_ ? 0 : row / r_.pitch;
    std::int64_t in_line = row - lines * r_.pitch;
    const std::int64_t begin = r_.first + lines * r_.width + (is_dense_ ? in_line : std::min(in_line, r_.width)),
                       number = begin * r_.ld + r_.offset + column;
    alignas(64) std::int32_t offsets[kBlock] = {};
    if (r_.offsets != nullptr) std::copy_n(r_.offsets + column, columns, offsets);
    alignas(64) float kept[kBlock * kBlock];
    std::int64_t results = 0;
    for (std::int64_t i = 0; i < count; ++i, sums += kBlock, ++in_line) {
      if (!is_dense_ && in_line == r_.pitch) in_line = 0;
      if (!is_dense_ && in_line >= r_.width) continue;
      convert_row(sums, offsets, kept + results * kBlock);
      ++results;
    }
    if (results == 0) return;
    if (r_.finish.store_or_apply(kept, kBlock, results, columns, number, r_.ld)) return;
    std::byte* to = r_.y + number * 4;
    for (std::int64_t i = 0; i < results; ++i, to += r_.ld * 4)
      std::memcpy(to, kept + i * kBlock, static_cast<std::size_t>(columns) * 4);
  }
  void ask(std::int64_t, std::int64_t, std::int64_t) const {}

 private:
  void convert_row(const std::int32_t* sums, const std::int32_t* offsets, float* kept) const {
    std::int32_t row[kBlock];
    for (std::int64_t i = 0; i < kBlock; ++i)
      row[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[i]) + static_cast<std::uint32_t>(offsets[i]));
    if (stores_sums_) {
      std::memcpy(kept, row, sizeof row);
      return;
    }
    for (std::int64_t i = 0; i < kBlock; ++i) kept[i] = static_cast<float>(row[i]);
  }

  const RowResults& r_;
  bool stores_sums_, is_dense_;
};

}  // namespace
}  // namespace tern::int8
