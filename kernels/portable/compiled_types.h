// The element types that texts are compiled for beforehand, so that there are few texts: each op's operands and results
// are converted to these and back, which changes no bit of a result.
#pragma once

#include "kernels/kernel.h"

namespace tern::portable {

/// Whether the CPU's own kernel makes what the op's definition says, since nothing is rounded: integers, places.
bool exact_without(const KernelCall& c);

/// The type that input or output `k` of the node has in the texts.
DType compiled_input(const KernelCall& c, std::size_t k);
DType compiled_output(const KernelCall& c, std::size_t k);

}  // namespace tern::portable
