// What the calls of one body share: its backward functions, each made once however often the body runs.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "exporter/builder.h"

namespace tern {

/// A body with further results: what its backward function cannot compute again. Those are its random numbers.
struct KeptBody {
  std::uint32_t function = 0;
  std::size_t outputs = 0;       ///< of the body before; the values that are kept follow
  std::vector<TensorType> kept;  ///< their types
};

/// Lives as long as one differentiate(), for the bodies inside of bodies as well. Functions are numbers in
/// Program::functions. Bodies that layers share call one another, so without it the work doubles with each level.
struct BackwardFunctions {
  std::map<std::uint32_t, KeptBody> bodies;  ///< by the body before
  /// By KeptBody::function, which of its results have a gradient, and the operands whose gradients are wanted.
  std::map<std::tuple<std::uint32_t, std::vector<bool>, std::vector<std::size_t>>, std::uint32_t> made;
  std::map<std::int32_t, std::int32_t> origins;  ///< of gradients' nodes, by those of forward nodes
};

}  // namespace tern
