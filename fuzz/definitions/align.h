// Freedom in a definition: the order of equal elements and of eigenvalues, and the phases of vectors.
#pragma once

#include "fuzz/definitions/node_case.h"

namespace tern::fuzz {

/// Makes the free choices in `results` equal to `defined`, so that any remaining difference is an error. A position of
/// an element equal to the defined element becomes the defined position.
void align(const NodeCase& c, const std::vector<HostTensor>& operands, NodeResults& results,
           const NodeResults& defined);

}  // namespace tern::fuzz
