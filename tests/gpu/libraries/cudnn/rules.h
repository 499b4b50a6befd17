// Convolutions supported by the stand-in for cuDNN.
#pragma once

#include <optional>

#include "tests/gpu/libraries/convolution_call.h"
#include "tests/gpu/libraries/cudnn/objects.h"

namespace tern::stand_in {

/// The convolution of an operation graph, without addresses; nullopt for a graph without engine. Ends the process if
/// sizes disagree.
std::optional<ConvolutionCall> read(const Object& graph);

}  // namespace tern::stand_in
