#include "kernels/cpu/products/int8/weight_pack.h"

#include <algorithm>
#include <cstring>

namespace tern::int8 {
namespace {

/// The bytes as integers, added up.
std::int32_t sum_of(const std::byte* bytes, std::int64_t count, bool with_sign) {
  std::int32_t sum = 0;
  if (with_sign) {
    for (std::int64_t i = 0; i < count; ++i) sum += static_cast<std::int8_t>(bytes[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) sum += static_cast<std::uint8_t>(bytes[i]);
  }
  return sum;
}

}  // namespace

std::byte* PackedInt8Weight::group(std::byte* block, std::int64_t column, std::int64_t k) const {
  if (layout_ == PackedWeightLayout::rows) return block + column * steps_ * kStep + k;
  if (layout_ == PackedWeightLayout::pairs) return block + (k / kEight * kBlock + column) * kEight + k % kEight;
  const std::int64_t tile = k / kStep * 2 + column / kTile;
  return block + tile * tiles::kTileBytes + k % kStep / kGroup * kTile * kGroup + column % kTile * kGroup;
}

void PackedInt8Weight::pack(const WeightView& weight, bool with_sign, std::span<const PackedStretch> stretches,
                            IndexRange blocks, std::byte* to, std::int32_t* sums) const {
  for (std::int64_t b = blocks.begin; b < blocks.end; ++b) {
    std::byte* const block = to + b * block_bytes();
    const std::int64_t count = std::min(kBlock, weight.n - b * kBlock);
    if (count < kBlock) std::memset(block, 0, static_cast<std::size_t>(block_bytes()));
    std::fill_n(sums + b * kBlock, kBlock, 0);
    std::int64_t step = 0;
    for (const PackedStretch& s : stretches) {
      for (std::int64_t k = 0; k < s.size; k += kStep, ++step) {
        const std::int64_t here = std::min(kStep, s.size - k), element = s.stride * weight.element;
        const std::byte* const from =
            weight.data + b * kBlock * weight.column + (s.first + k * s.stride) * weight.element;
        for (std::int64_t c = 0; c < count; ++c) {
          std::byte line[kStep] = {};
          const std::byte* at = from + c * weight.column;
          if (element == 1) {
            std::memcpy(line, at, static_cast<std::size_t>(here));
          } else {
            for (std::int64_t i = 0; i < here; ++i) line[i] = at[i * element];
          }
          sums[b * kBlock + c] += sum_of(line, kStep, with_sign);
          for (std::int64_t g = 0; g < kStep; g += kGroup)
            std::memcpy(group(block, c, step * kStep + g), line + g, static_cast<std::size_t>(kGroup));
        }
      }
    }
  }
}

}  // namespace tern::int8
