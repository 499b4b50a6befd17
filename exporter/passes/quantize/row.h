// A row of a weight that is quantized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "exporter/passes/quantize/format.h"
#include "exporter/passes/quantize/matrix.h"

namespace tern::quantize {

struct WeightRow {
  const std::uint32_t* numbers = nullptr;  ///< [columns]: bits of float32
  std::int64_t columns = 0;
  DType type = DType::f32;  ///< type of the weight; scales are rounded to it as in torchao
  Recipe recipe;
  const float* importance = nullptr;  ///< [columns]: factor of each squared error in the search of scales
  float outer = 0;                    ///< nvfp4: the scale above the blocks' scales
  std::byte* elements = nullptr;
  std::byte* scales = nullptr;         ///< scales of the row's blocks
  QuantizationError* error = nullptr;  ///< grows by that of the row
  std::span<const std::byte> next{};   ///< bytes that are read after this row
};

// Each writes the elements and the scales by the formulas of its file: those of torchao 0.18, or a search of scales.
void encode_integers(const WeightRow& row);
void encode_row_floats(const WeightRow& row);
void encode_microscaling(const WeightRow& row);
void encode_nvfp4(const WeightRow& row);
/// Calls the encoder of the format's scheme.
void encode_row(const WeightRow& row);

/// WeightRow::outer for a weight with this largest magnitude.
float nvfp4_outer(float largest);

}  // namespace tern::quantize
