// The loops of dot_microkernel.h, in the words of one instruction set (kernels/cpu/simd/int8.h).
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/cpu/products/int8/dot_microkernel.h"
#include "kernels/cpu/simd/int8.h"

namespace tern::int8 {
namespace {  // files of other instruction sets have their own

/// Sums of Rows x Columns lines. V: kBytes that it takes at a time, Sums, x and weight (bytes as it multiplies them),
/// add, and total. kFlips: `weight` flips them where signs are the same.
template <class V, int Rows, int Columns>
void dot(const DotBlock& d, const std::byte* x, const std::byte* weight, std::int32_t* sums) {
  typename V::Sums sum[Rows][Columns];
  for (auto& row : sum) {
    for (auto& s : row) s = V::zero();
  }
  const auto add = [&](const std::byte* const(&from)[Rows], const std::byte* const(&by)[Columns], std::int64_t bytes) {
    for (std::int64_t i = 0; i < bytes; i += V::kBytes) {
      typename V::Bytes column[Columns];
#pragma GCC unroll 4
      for (int c = 0; c < Columns; ++c) column[c] = V::weight(by[c] + i);
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) {
        const typename V::Bytes line = V::x(from[r] + i);
#pragma GCC unroll 4
        for (int c = 0; c < Columns; ++c) sum[r][c] = V::add(sum[r][c], line, column[c]);
      }
    }
  };
  const std::byte *from[Rows], *by[Columns];
  const std::int64_t count = std::ssize(d.steps), whole = d.last == kStep ? count : count - 1;
  for (std::int64_t s = 0; s < count; ++s) {
    for (int r = 0; r < Rows; ++r) from[r] = x + r * d.x_row + d.steps[static_cast<std::size_t>(s)];
    for (int c = 0; c < Columns; ++c) by[c] = weight + c * d.weight_row + s * kStep;
    if (s < whole) {
      add(from, by, kStep);
      continue;
    }
    // Zeros of x fill up: what the weight has beside them does not matter.
    std::byte padded[Rows + Columns][kStep] = {};
    const auto bytes = static_cast<std::size_t>(d.last);
    for (int r = 0; r < Rows; ++r) from[r] = static_cast<std::byte*>(std::memcpy(padded[r], from[r], bytes));
    for (int c = 0; c < Columns; ++c) by[c] = static_cast<std::byte*>(std::memcpy(padded[Rows + c], by[c], bytes));
    add(from, by, kStep);
  }
  for (int r = 0; r < Rows; ++r) {
    for (int c = 0; c < Columns; ++c) sums[r * d.ld + c] = V::total(sum[r][c]);
  }
}

template <class V, int Rows>
void dot_rows(const DotBlock& d, const std::byte* x, std::int32_t* sums) {
  std::int64_t c = 0;
  for (; c + 4 <= d.columns; c += 4) dot<V, Rows, 4>(d, x, d.weight + c * d.weight_row, sums + c);
  for (; c < d.columns; ++c) dot<V, Rows, 1>(d, x, d.weight + c * d.weight_row, sums + c);
}

/// The sum of a line of x.
template <class X>
std::int32_t line_sum(const DotBlock& d, const std::byte* x) {
  std::int32_t sum = 0;
  for (std::size_t s = 0; s < d.steps.size(); ++s) {
    const auto* at = reinterpret_cast<const X*>(x + d.steps[s]);
    const std::int64_t count = s + 1 == d.steps.size() ? d.last : kStep;
    for (std::int64_t i = 0; i < count; ++i) sum += at[i];
  }
  return sum;
}

/// V for bytes of these signs.
template <template <bool, bool> class V, bool kX, bool kWeight>
void dots_of(const DotBlock& d) {
  using Words = V<kX, kWeight>;
  std::int64_t r = 0;
  for (; r + Words::kRows <= d.rows; r += Words::kRows)
    dot_rows<Words, Words::kRows>(d, d.x + r * d.x_row, d.sums + r * d.ld);
  for (; r < d.rows; ++r) dot_rows<Words, 1>(d, d.x + r * d.x_row, d.sums + r * d.ld);
  if constexpr (Words::kFlips && kX == kWeight) {
    using X = std::conditional_t<kX, std::int8_t, std::uint8_t>;
    for (r = 0; r < d.rows; ++r) {
      const std::int64_t shift = (kWeight ? -kShift : kShift) * line_sum<X>(d, d.x + r * d.x_row);
      for (std::int64_t c = 0; c < d.columns; ++c) {
        std::int32_t& sum = d.sums[r * d.ld + c];
        sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) + static_cast<std::uint32_t>(shift));
      }
    }
  }
}

template <template <bool, bool> class V>
void all_dots(const DotBlock& d) {
  if (d.signs.x) return d.signs.weight ? dots_of<V, true, true>(d) : dots_of<V, true, false>(d);
  d.signs.weight ? dots_of<V, false, true>(d) : dots_of<V, false, false>(d);
}

}  // namespace
}  // namespace tern::int8
