// A matrix of numbers as a quantized value: whether given scales, and zero points, make its numbers of small elements.
#pragma once

#include <optional>
#include <vector>

#include "dtypes/blocks.h"

namespace tern::quantized {

/// A weight's numbers, and their type in the program: comparisons use that type.
struct WeightMatrix {
  std::vector<float> values;  ///< [rows, columns]
  DType type = DType::f32;    ///< float32, float16 or bfloat16
  std::int64_t rows = 0, columns = 0;
};

/// Numbers of the blocks of a matrix.
struct PerBlock {
  std::vector<float> values;           ///< row-major
  DType type = DType::f32;             ///< type that holds them exactly
  std::int64_t rows = 0, columns = 0;  ///< of blocks
};

/// Quantized value of a weight matrix's sizes, and its bytes.
struct Fitted {
  DType element = DType::invalid;
  Blocks blocks;
  std::vector<std::byte> bytes;
};

/// Elements of the fewest bits that give every number, bit for bit, as element * scale or (element - zero) * scale with
/// integer zero points that are found too; nothing when there are none. Zeros of either sign are equal.
std::optional<Fitted> fit(const WeightMatrix& matrix, const PerBlock& scales);

/// The same for zero points that are given, no whole numbers: subtracted or added.
std::optional<Fitted> fit(const WeightMatrix& matrix, const PerBlock& scales, const PerBlock& zeros);

/// int8 elements that give every number, bit for bit, as element * scale with one scale for each row or for all;
/// nothing when there are none.
std::optional<std::vector<std::int8_t>> fit_bytes(const WeightMatrix& matrix, const PerBlock& scales);

}  // namespace tern::quantized
