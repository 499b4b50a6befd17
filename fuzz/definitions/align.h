// What a definition leaves open: the order of equal elements, and of eigenvalues, and the phases of vectors.
#pragma once

#include "fuzz/definitions/node_case.h"

namespace tern::fuzz {

/// Makes the choices of `results` those of `defined`, as far as both are results of `op`: what still differs, differs
/// in meaning. Where a place is of an element that equals the defined one's, it becomes that place.
void align(const NodeCase& c, const std::vector<HostTensor>& operands, Results& results, const Results& defined);

}  // namespace tern::fuzz
