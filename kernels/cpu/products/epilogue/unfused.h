// A product of 8-bit integers with an 8-bit result, for algorithms without an 8-bit store: the product stores floats in
// scratch memory, and a pointwise node converts them.
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
