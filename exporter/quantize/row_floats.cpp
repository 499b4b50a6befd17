// float8_e4m3fn with a float32 scale for each row: torchao's Float8WeightOnlyConfig with PerRow.
//
//   scale = largest magnitude / 448, rounded to the weight's type
//   element = x / scale, clamped to 448, rounded to nearest, ties to even
//
// Where the scale is zero, because the row is, torchao divides zero by zero and keeps NaN. These elements are zeros.
#include "exporter/quantize/block_loops.h"
#include "exporter/quantize/row.h"

namespace tern::quantize {

void encode_row_floats(const Row& row) {
  auto* const codes = reinterpret_cast<std::uint8_t*>(row.elements);
  at_cpu_level([&]() __attribute__((always_inline)) {
    const float largest = std::bit_cast<float>(largest_bits(row.numbers, row.columns));
    const float scale = rounded_to(row.type, largest / kLargest<E4M3FN>);
    const float by = scale == 0 ? std::bit_cast<float>(float_codec::kInfinity32) : scale;
    for (std::int64_t begin = 0; begin < row.columns; begin += kChunk) {
      const std::int64_t n = std::min(kChunk, row.columns - begin);
      const float* const x = row.numbers + begin;
      float* const back = row.back + begin;
      ask_for_next(row, begin, n, 0);
      ask_for_next(row, begin, n, 1);
      for (std::int64_t k = 0; k < n; ++k) back[k] = clamped(x[k] / by, kLargest<E4M3FN>);
      ask_for_next(row, begin, n, 2);
      encode_numbers<E4M3FN>(back, n, codes + begin);
      ask_for_next(row, begin, n, 3);
      multiply(back, n, scale);
    }
    std::memcpy(row.scales, &scale, sizeof scale);
  });
}

}  // namespace tern::quantize
