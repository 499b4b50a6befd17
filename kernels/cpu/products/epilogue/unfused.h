// A product of 8-bit integers with such a result, where no algorithm stores that: the product makes floats in scratch
// memory, of which a pointwise node makes the result.
#pragma once

#include <memory>

#include "kernels/cpu/algorithms.h"

namespace tern::cpu {

/// True if the call's epilogue makes integers of 8 bits.
bool makes_bytes(const KernelCall& call);

/// `prepare` prepares the product alone, and its state is an AlgorithmState.
std::unique_ptr<KernelState> prepare_unfused(const KernelCall& call,
                                             std::unique_ptr<KernelState> (*prepare)(const KernelCall&));

}  // namespace tern::cpu
