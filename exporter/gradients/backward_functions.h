// Backward functions common to the calls of one body: each is created once, however often the body runs.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "exporter/builder.h"

namespace tern {

/// Body with additional results: its random numbers, beyond recomputation by the backward function.
struct AugmentedBody {
  std::uint32_t function = 0;
  std::size_t outputs = 0;              ///< count of the original body; the kept values follow
  std::vector<TensorType> saved_types;  ///< their types
};

/// Lives as long as the outermost differentiate(), covering nested bodies too. Functions are indices into
/// Program::functions. Bodies of repeated layers call one another; without the table, work doubles with each level.
struct BackwardFunctions {
  std::map<std::uint32_t, AugmentedBody> bodies;  ///< keyed by original body
  /// Key: AugmentedBody::function, the presence of each result's gradient, the operands wanting a gradient.
  std::map<std::tuple<std::uint32_t, std::vector<bool>, std::vector<std::size_t>>, std::uint32_t> functions;
  std::map<std::int32_t, std::int32_t> origins;  ///< origins of gradient nodes, by origin of the forward node
};

}  // namespace tern
