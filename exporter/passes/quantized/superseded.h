// Float weights that a quantized program keeps beside their integers.
#pragma once

#include "schema/program.h"

namespace tern {

/// Removes float states that nothing reads, where a state of the same shape with elements of 8 bits or fewer is read:
/// PT2E leaves a model's own weights in the file, beside the quantized ones that replace them.
void remove_superseded_weights(Program& program);

}  // namespace tern
