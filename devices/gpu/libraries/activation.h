// Pointwise nodes that the libraries take as the end of a product.
#pragma once

#include <tern/device.h>

#include <cstdint>

namespace tern::gpu {

/// Bits of the libraries' epilogues (cublasLtEpilogue_t, hipblasLtEpilogue_t): equal numbers for both.
enum class Activation : std::uint32_t { none = 0, relu = 2, gelu = 32 };

/// What a "pointwise" node computes of its only operand; `none` for everything else. The libraries' GELU is the one
/// with tanh.
Activation activation_of(const tern_device_op& op);

}  // namespace tern::gpu
