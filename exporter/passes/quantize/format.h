// The formats that `tern export --quantize` stores weights in.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "dtypes/blocks.h"

namespace tern::quantize {

/// Arithmetic of scales and elements: one file each.
enum class Scheme {
  integers,      ///< symmetric integers times a scale (integers.cpp)
  row_floats,    ///< float8 with a float32 scale for each row (row_floats.cpp)
  microscaling,  ///< powers of two as scales, OCP MX 1.0 (microscaling.cpp)
  nvfp4,         ///< float8 scales of 16 elements and one float32 above them (nvfp4.cpp)
};

/// Quantization of the rows that such weights multiply, in each run (activations.h).
enum class Activations {
  floats,  ///< nothing
  int8,    ///< int8 with a scale for each row: products of integers
  float8,  ///< float8_e4m3fn with a scale for each row: products of float8
  mx,      ///< MX blocks: of the weight's element type where that is an MX format, else of float8_e4m3fn
};

struct Format {
  std::string_view name;
  Scheme scheme;
  DType element;
  std::int32_t block;       ///< elements along a row that share a scale; 0: all of them
  DType scale;              ///< type of the scales; invalid: the weight's own type
  bool outer;               ///< true if a float32 scale of the whole tensor multiplies all others
  Activations activations;  ///< that its products can have, beside floats
  std::string_view summary;
};

/// A microscaling block's scale from its largest magnitude: torchao's ScaleCalculationMode. The search starts there.
enum class MxScales { floor, even, ceil };

/// Rule for the scales of integers, MX blocks and nvfp4.
enum class ScaleRule {
  search,   ///< least squared error of several candidates (scale_search.h)
  torchao,  ///< torchao's scale of the largest magnitude
  gptq,     ///< search, then rounding with error feedback, if there are example inputs (error_feedback.h)
};

/// A format and what a user chose of it.
struct Recipe {
  const Format* format = nullptr;
  std::int32_t block = 0;  ///< as Format::block
  MxScales mx_scales = MxScales::floor;
  Activations activations = Activations::floats;  ///< or what the format's products can have
  bool bfloat16_scales = false;                   ///< integers in groups have them, whatever type the weight has
  ScaleRule rule = ScaleRule::search;

  friend bool operator==(const Recipe&, const Recipe&) = default;
};

std::span<const Format> formats();
/// Null where there is none of that name.
const Format* find_format(std::string_view name);
/// "int8, int4, ..."
std::string format_names();

/// "int8", "float8" or "mx"; floats for another name.
Activations find_activations(std::string_view name);
/// "int8, float8 or mx"
std::string activation_names();
/// The formats whose products can have them: "int8", "int4, mxfp4, ...".
std::string format_names_beside(Activations activations);

/// The type of a matrix [.., columns] of `type` numbers in the format.
Blocks blocks_of(const Recipe& recipe, DType type, std::int64_t columns);

}  // namespace tern::quantize
