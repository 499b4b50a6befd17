// A weight of floats becomes a quantized value, and how far the two are apart.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "exporter/passes/quantize/format.h"
#include "exporter/raw_bytes.h"

namespace tern::quantize {

/// A matrix in memory, perhaps in planes of `plane_rows` rows each; strides in elements.
struct FloatMatrix {
  const std::byte* data = nullptr;  ///< address of its first number
  DType type = DType::f32;          ///< float32, float16 or bfloat16
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_stride = 0, column_stride = 1;
  std::int64_t plane_rows = 0, plane_stride = 0;  ///< 0: one plane

  /// Address of the first number of a row.
  std::int64_t offset(std::int64_t row) const {
    return plane_rows == 0 ? row * row_stride : row / plane_rows * plane_stride + row % plane_rows * row_stride;
  }
};

/// Sums over all numbers x of a weight and y of its quantized value.
struct QuantizationError {
  double xx = 0, yy = 0;
  double noise = 0;  ///< sum of (x - y)^2

  void add(const QuantizationError& e);
  /// Signal to quantization noise, in decibels; infinite where the two are equal.
  double sqnr() const;
  /// Cosine of the angle between the two as vectors; 1 if both are zero.
  double cosine() const;
};

struct Quantized {
  Blocks blocks;
  RawBytes bytes;  ///< laid out by QuantizedMatrix (dtypes/blocks.h)
  QuantizationError error;
};

/// `m.columns` must be a multiple of the recipe's block and even for elements of four bits. On all threads.
/// `importance` [columns]: mean square of the numbers that each column multiplies; empty: all are equal. Only the
/// search of scales reads it.
Quantized quantize(const FloatMatrix& m, const Recipe& recipe, std::span<const float> importance = {});

/// Importance with the mean 1; all 1 where `importance` is empty or not finite. Columns without importance have a
/// little: their error never goes free.
std::vector<float> importance_factors(std::span<const float> importance, std::int64_t columns);

/// Rows [first, first + count) as float32, one after the other.
void read_rows(const FloatMatrix& m, std::int64_t first, std::int64_t count, float* destination);

}  // namespace tern::quantize
