// Checks of `tern validate --deep` beyond the rules of the format: packed weights, used in place of weights.
#pragma once

#include <string>
#include <vector>

#include "loader/findings.h"

namespace tern {

struct DeepCheck {
  std::vector<Finding> findings;
  std::size_t identical = 0;  ///< packed weights identical to this machine's packing
  std::size_t values = 0;     ///< packed weights for other processors, checked by value
  std::size_t unchecked = 0;  ///< packed weights with layouts of other library versions, unchecked
};

/// Repacks the weights of an archive without findings, and compares them with the archive's packed weights. Compares
/// values, in any order, for Tern's own layouts of other processors. Takes the time of planning all functions, and
/// memory for the packed weights.
DeepCheck check_packed_weights(const std::string& path);

}  // namespace tern
