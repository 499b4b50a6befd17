// What a user asks `tern export --quantize` for, and what came of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exporter/quantize/format.h"

namespace tern {

/// A format for the weights of nodes that a pattern (schema/node_pattern.h) matches; of all nodes where it is empty.
struct QuantizeRule {
  quantize::Recipe recipe;
  std::string pattern;
};

struct QuantizedWeight {
  std::string name, module;  ///< of the state, and of the first node that reads it
  std::string format;
  std::int64_t rows = 0, columns = 0;
  double sqnr = 0;                      ///< decibels
  double cosine = 0;                    ///< between the weight and its quantized value
  std::uint64_t before = 0, after = 0;  ///< bytes
};

/// A weight of floats that was left as it is.
struct KeptWeight {
  std::string name;
  std::string reason;
  std::uint64_t bytes = 0;
};

struct QuantizeReport {
  std::vector<QuantizedWeight> weights;
  std::vector<KeptWeight> kept;
};

}  // namespace tern
