// Conversions between optimizer states of 8 bits (dtypes/state_codes.h) and floats.
#pragma once

#include <cstdint>

#include "dtypes/levels.h"

namespace tern::cpu {

/// Decodes whole blocks, `count` elements in total: the float32 product of each code's value and the block's scale.
void decode_states(const std::uint8_t* codes, const float* scales, bool is_signed, std::int64_t count, float* values);
/// Encodes whole blocks as codes and scales. A block with NaN has a scale of NaN, a block with infinity an infinite
/// scale.
void encode_states(const float* values, bool is_signed, std::int64_t count, std::uint8_t* codes, float* scales);

// A cell covers the numbers of the same sign, exponent and first seven fraction bits, from 2^-24 to 1; a single cell
// covers everything below 2^-24. A cell is narrower than the distance of any two code bounds, so at most one bound lies
// inside. The table has a number for each cell, positive cells first: the code of the cell's smallest magnitude, times
// 2^17, plus the smallest low 16 bits of a float with the next code (2^16: none).
constexpr int kCellBits = 16, kThresholdBits = 17, kFirstCell = 103 << 7, kCells = (127 << 7) - kFirstCell + 1;

/// Codes are not written where the scale is not finite.
TERN_LEVEL_FUNCTIONS(narrow_vectors, encode_block, const float* values, const std::int32_t* cells, std::uint8_t* codes,
                     float* scale)

}  // namespace tern::cpu
