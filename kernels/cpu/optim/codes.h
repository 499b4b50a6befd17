// Optimizer states of 8 bits (dtypes/state_codes.h) become floats, and floats such states.
#pragma once

#include <cstdint>

#include "dtypes/levels.h"

namespace tern::cpu {

/// Whole blocks of `count` elements in all: a float32 product for each, of its code's value and its block's scale.
void decode_states(const std::uint8_t* codes, const float* scales, bool is_signed, std::int64_t count, float* values);
/// Codes and scales of whole blocks. A block with NaN has a scale of NaN, one with infinity an infinite one.
void encode_states(const float* values, bool is_signed, std::int64_t count, std::uint8_t* codes, float* scales);

// A cell has the numbers of one sign, exponent and first seven bits of the fraction: those of 2^-24 to 1, and all below
// 2^-24 in one. A cell is narrower than the distance of any two bounds of codes, so at most one bound lies in it. The
// table has a number for each cell, of numbers above zero and then below: the code of the cell's least magnitude, times
// 2^17, and the least 16 last bits of a float that has the next code (2^16: none has).
constexpr int kCellBits = 16, kThresholdBits = 17, kFirstCell = 103 << 7, kCells = (127 << 7) - kFirstCell + 1;

/// Codes are not written where the scale is not finite.
TERN_LEVEL_FUNCTIONS(narrow_vectors, encode_block, const float* values, const std::int32_t* cells, std::uint8_t* codes,
                     float* scale)

}  // namespace tern::cpu
