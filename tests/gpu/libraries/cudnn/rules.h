// Which convolutions the stand-in for cuDNN runs.
#pragma once

#include <optional>

#include "tests/gpu/libraries/convolution_call.h"
#include "tests/gpu/libraries/cudnn/objects.h"

namespace tern::stand_in {

/// The convolution of an operation graph, without addresses; nothing for a graph that no engine takes. Ends the process
/// where sizes disagree.
std::optional<ConvolutionCall> read(const Object& graph);

}  // namespace tern::stand_in
