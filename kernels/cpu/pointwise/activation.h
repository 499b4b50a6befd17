// The functions that follow convolutions and products most often: each has a loop of its own, as a chain of arithmetic
// takes as long to find its operands as to compute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "schema/pointwise.h"

namespace tern::pointwise {

enum class Activation : std::uint8_t { hardswish, silu, gelu, gelu_tanh };
inline constexpr int kActivations = 4;

/// Replaces each element of `rows` rows of `columns` floats, `row` apart, by its function: the bits of the expression.
using ActivationLoop = void (*)(float* x, std::int64_t row, std::int64_t rows, std::int64_t columns);

/// The function whose value instruction `last` is, as importers write it, and the instruction that it is of.
struct ActivationEnd {
  Activation activation;
  std::size_t of;
};
std::optional<ActivationEnd> activation_end(const PointwiseExpr& expr, std::size_t last);

}  // namespace tern::pointwise
