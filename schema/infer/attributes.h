// The check of a node's attributes against the record of its op.
#pragma once

#include "schema/infer.h"

namespace tern {

/// Fails where an attribute is missing, of another type, or out of bounds. One that the record does not have is left
/// alone.
void check_attributes(const Inference& c);

}  // namespace tern
