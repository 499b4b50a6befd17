// The most common functions after convolutions and products. Each has a dedicated loop, since a chain of arithmetic
// spends as long on operand lookup as on arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "schema/pointwise.h"

namespace tern::pointwise {

enum class SelfGatedActivation : std::uint8_t { hardswish, silu, gelu, gelu_tanh };
inline constexpr int kActivations = 4;

/// Applies the function to each element of `rows` rows of `columns` floats, `row` apart, with the bits of the
/// expression.
using ActivationLoop = void (*)(float* x, std::int64_t row, std::int64_t rows, std::int64_t columns);

/// The function computed by instruction `last`, in the form written by importers, and the instruction of its argument.
struct ActivationEnd {
  SelfGatedActivation activation;
  std::size_t argument;
};
std::optional<ActivationEnd> activation_end(const PointwiseExpr& expr, std::size_t last);

}  // namespace tern::pointwise
