// Checks a node's attributes against the record of its op.
#pragma once

#include "schema/infer.h"

namespace tern {

/// Fails if an attribute is missing, of another type, out of bounds, or unknown to the op.
void check_attributes(const Inference& c);

}  // namespace tern
