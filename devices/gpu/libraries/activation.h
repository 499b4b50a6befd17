// Pointwise nodes fused by the libraries into the end of a product.
#pragma once

#include <tern/device.h>

#include <cstdint>

namespace tern::gpu {

/// Epilogue bits of the libraries (cublasLtEpilogue_t, hipblasLtEpilogue_t): equal numbers.
enum class Activation : std::uint32_t { none = 0, relu = 2, gelu = 32 };

/// Activation computed by a "pointwise" node of its only operand; `none` for everything else. The libraries' GELU is
/// the tanh approximation.
Activation activation_of(const tern_device_op& op);

}  // namespace tern::gpu
