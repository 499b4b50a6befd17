// What `tern validate --deep` checks beyond the rules of the format: bytes that run instead of others.
#pragma once

#include <string>
#include <vector>

#include "loader/findings.h"

namespace tern {

struct DeepCheck {
  std::vector<Finding> findings;
  std::size_t same = 0;       ///< packed weights that are what this machine packs
  std::size_t values = 0;     ///< of other processors, which this machine does not run: their values are the weight's
  std::size_t unchecked = 0;  ///< of other versions of a library, whose layouts only that version knows
};

/// Packs the weights of an archive without findings anew, and compares them with the packed ones that it brings. Of
/// Tern's own layouts for other processors it compares the values, whatever their order. Takes the time of planning all
/// functions, and memory for the packed weights.
DeepCheck check_packed_weights(const std::string& path);

}  // namespace tern
