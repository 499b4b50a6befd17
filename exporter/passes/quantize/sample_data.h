// Facts from example inputs about the weights to quantize.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "exporter/passes/quantize/matrix.h"
#include "exporter/passes/quantize/uses.h"

namespace tern {

/// A matrix that nodes read in a weight. Stays the same in programs derived from a program.
struct WeightPart {
  std::string weight;  ///< name of the weight's first state
  std::int64_t offset = 0, rows = 0, columns = 0;

  WeightPart(std::string name, const quantize::MatrixPart& p)
      : weight(std::move(name)), offset(p.offset), rows(p.rows * p.planes), columns(p.columns) {}
  friend auto operator<=>(const WeightPart&, const WeightPart&) = default;
};

struct EncodedPart {
  quantize::Recipe recipe;
  quantize::Quantized quantized;
};

struct SampleData {
  std::map<WeightPart, std::vector<float>> importance;  ///< mean square of the numbers that each column multiplies
  std::map<WeightPart, EncodedPart> encoded;            ///< parts quantized with error feedback (error_feedback.h)
};

}  // namespace tern
