// What `tern validate --deep` checks beyond the rules of the format: bytes that run instead of others.
#pragma once

#include <string>
#include <vector>

#include "loader/findings.h"

namespace tern {

struct DeepCheck {
  std::vector<Finding> findings;
  std::size_t same = 0;       ///< packed weights that are what this machine packs
  std::size_t unchecked = 0;  ///< of other processors or versions of a library: this machine does not run them
};

/// Packs the weights of an archive without findings anew, and compares them with the packed ones that it brings. Takes
/// the time of planning all functions, and memory for the packed weights.
DeepCheck check_packed_weights(const std::string& path);

}  // namespace tern
