// The options of `tern export` that say how weights are quantized.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "exporter/quantize/options.h"

namespace tern {

struct QuantizeArguments {
  std::vector<std::string> formats;  ///< FORMAT or FORMAT:PATTERN
  std::string mx_scales, activations;
  std::optional<int> group;
};

/// Fails (invalid_argument) where an option is wrong, or is for formats that are not asked for.
std::vector<QuantizeRule> parse_quantize(const QuantizeArguments& arguments);

}  // namespace tern
