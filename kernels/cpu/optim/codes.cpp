#include "kernels/cpu/optim/codes.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "dtypes/state_codes.h"

namespace tern::cpu {
namespace {

struct CodeCells {
  explicit CodeCells(const StateCodes& codes) {
    for (int cell = 0; cell < kCells; ++cell) {
      const auto number = [](int c, std::uint32_t rest) {
        return std::bit_cast<float>((static_cast<std::uint32_t>(c + kFirstCell) << kCellBits) + rest);
      };
      const float least = cell == 0 ? 0 : number(cell, 0), most = number(cell, 0xffff);
      numbers[cell] = entry(codes, least, most);
      numbers[kCells + cell] = entry(codes, -least, -most);
    }
  }
  static std::int32_t entry(const StateCodes& codes, float least, float most) {
    const int from = code_of(codes, least), to = code_of(codes, most);
    int threshold = 1 << kCellBits;
    // A negative number has the lower code if its magnitude exceeds the bound's.
    if (from != to) threshold = last_bits(codes.bounds[std::min(from, to)]) + (to < from ? 1 : 0);
    return (from << kThresholdBits) | threshold;
  }
  static int last_bits(float x) { return static_cast<int>(std::bit_cast<std::uint32_t>(x) & 0xffffU); }

  std::int32_t numbers[2 * kCells];
};

const CodeCells& cells_of(bool is_signed) {
  static const CodeCells with(state_codes(true)), without(state_codes(false));
  return is_signed ? with : without;
}

}  // namespace

void decode_states(const std::uint8_t* codes, const float* scales, bool is_signed, std::int64_t count, float* values) {
  const float* const numbers = state_codes(is_signed).values.data();
  for (std::int64_t end = kStateBlock, i = 0; i < count; end += kStateBlock) {
    const float scale = *scales++;
    for (; i < end; ++i) values[i] = numbers[codes[i]] * scale;
  }
}

void encode_states(const float* values, bool is_signed, std::int64_t count, std::uint8_t* codes, float* scales) {
  static const auto block = best_level(encode_block_levels);
  const std::int32_t* const cells = cells_of(is_signed).numbers;
  const std::uint8_t zero = code_of(state_codes(is_signed), 0);
  for (std::int64_t i = 0; i < count; i += kStateBlock, ++scales) {
    block(values + i, cells, codes + i, scales);
    if (std::isfinite(*scales)) continue;
    // Finite numbers divided by infinity are zero; the others give NaN.
    for (std::int64_t k = i; k < i + kStateBlock; ++k)
      codes[k] = std::isinf(*scales) && std::isfinite(values[k]) ? zero : std::uint8_t{0};
  }
}

}  // namespace tern::cpu
