// The shape rules of softmax and the normalizations; part of the family that register_reduction_rules registers.
#pragma once

#include "schema/infer.h"

namespace tern {

void register_normalization_rules(InferTable& t);

}  // namespace tern
