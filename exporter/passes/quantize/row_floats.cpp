// float8_e4m3fn with a float32 scale for each row: torchao's Float8WeightOnlyConfig with PerRow.
//
//   scale = largest magnitude / 448, rounded to the weight's type
//   element = x / scale, clamped to 448, rounded to nearest, ties to even
//
// torchao divides zero by zero for a row of zeros, whose scale is zero, and keeps NaN. Elements are zeros here.
#include <array>

#include "exporter/passes/quantize/block_loops.h"
#include "exporter/passes/quantize/row.h"

namespace tern::quantize {
namespace {

using F = E4M3FN;

}  // namespace

void encode_row_floats(const WeightRow& row) {
  auto* const elements = reinterpret_cast<std::uint8_t*>(row.elements);
  const auto* const numbers = row.numbers;
  std::array<std::uint16_t, kChunk> codes;
  run_at_cpu_level([&](auto fused) __attribute__((always_inline)) {
    constexpr bool kFused = decltype(fused)::value;
    const float max_magnitude = std::bit_cast<float>(largest_bits(numbers, row.columns));
    const float scale = rounded_to(row.type, max_magnitude / kLargest<F>), divisor = scale == 0 ? kInfinity : scale;
    const bool uses_reciprocal = kFused && is_near(divisor);
    const auto divide = [divisor](float v, std::int64_t = 0) __attribute__((always_inline)) {
      return v / divisor;
    };
    const auto multiply = [ divisor, reciprocal = 1 / divisor ](float v, std::int64_t) __attribute__((always_inline)) {
      return kFused ? quotient(v, divisor, reciprocal) : v / divisor;
    };
    const auto scale_of = [scale](std::int64_t) __attribute__((always_inline)) {
      return scale;
    };
    const float max_element = unknown(kLargest<F>);
    Sums sums;
    for (std::int64_t begin = 0; begin < row.columns; begin += kChunk) {
      const std::int64_t chunk = std::min(kChunk, row.columns - begin);
      const auto* const x = numbers + begin;
      // Prefetches the next row in quarters, between the steps of this one.
      prefetch_next_row(row, begin, chunk, 0);
      prefetch_next_row(row, begin, chunk, 1);
      if (uses_reciprocal) {
        visit_lane_chunks(
            chunk, [&](std::int64_t i, std::int64_t count) __attribute__((always_inline)) {
              encode_numbers<kFused, F>(x + i, count, max_element, multiply, scale_of, codes.data() + i, sums);
            });
      } else {
        visit_lane_chunks(
            chunk, [&](std::int64_t i, std::int64_t count) __attribute__((always_inline)) {
              encode_numbers<kFused, F>(x + i, count, max_element, divide, scale_of, codes.data() + i, sums);
            });
        if (!(scale < kInfinity)) encode_nans<F>(x, chunk, divide, codes.data());
      }
      prefetch_next_row(row, begin, chunk, 2);
      pack_bytes(codes.data(), chunk, elements + begin);
      prefetch_next_row(row, begin, chunk, 3);
    }
    sums.add_to(*row.error);
    std::memcpy(row.scales, &scale, sizeof scale);
  });
}

}  // namespace tern::quantize
