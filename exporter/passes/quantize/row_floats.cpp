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

template <class S>
void encode_row_floats(const WeightRow& row) {
  auto* const to = reinterpret_cast<std::uint8_t*>(row.elements);
  const auto* const numbers = numbers_of<S>(row);
  std::array<std::uint16_t, kChunk> codes;
  at_cpu_level([&](auto fused) __attribute__((always_inline)) {
    constexpr bool kFused = decltype(fused)::value;
    const float largest = std::bit_cast<float>(largest_bits<S>(numbers, row.columns));
    const float scale = rounded_to(row.type, largest / kLargest<F>), by = scale == 0 ? kInfinity : scale;
    const bool near = kFused && is_near(by);
    const auto divide = [by](float v, std::int64_t = 0) __attribute__((always_inline)) {
      return v / by;
    };
    const auto multiply = [ by, reciprocal = 1 / by ](float v, std::int64_t) __attribute__((always_inline)) {
      return kFused ? quotient(v, by, reciprocal) : v / by;
    };
    const auto unit = [scale](std::int64_t) __attribute__((always_inline)) {
      return scale;
    };
    const float most = unknown(kLargest<F>);
    Sums sums;
    for (std::int64_t begin = 0; begin < row.columns; begin += kChunk) {
      const std::int64_t n = std::min(kChunk, row.columns - begin);
      const auto* const x = numbers + begin;
      ask_for_next(row, begin, n, 0);
      ask_for_next(row, begin, n, 1);
      if (near) {
        in_lanes(
            n, [&](std::int64_t i, std::int64_t count) __attribute__((always_inline)) {
              encode_numbers<kFused, F, S>(x + i, count, most, multiply, unit, codes.data() + i, sums);
            });
      } else {
        in_lanes(
            n, [&](std::int64_t i, std::int64_t count) __attribute__((always_inline)) {
              encode_numbers<kFused, F, S>(x + i, count, most, divide, unit, codes.data() + i, sums);
            });
        if (!(scale < kInfinity)) encode_nans<F, S>(x, n, divide, codes.data());
      }
      ask_for_next(row, begin, n, 2);
      pack_bytes(codes.data(), n, to + begin);
      ask_for_next(row, begin, n, 3);
    }
    sums.add_to(*row.error);
    std::memcpy(row.scales, &scale, sizeof scale);
  });
}

}  // namespace

void encode_row_floats(const WeightRow& row) {
  with_stored(row, [&](auto stored) { encode_row_floats<decltype(stored)>(row); });
}

}  // namespace tern::quantize
