// The check of a node's attributes against the record of its op.
#pragma once

#include "schema/infer.h"

namespace tern {

/// Fails where an attribute is missing, of another type, out of bounds, or not one of the op.
void check_attributes(const Inference& c);

}  // namespace tern
