// A matrix of numbers as a 2:4 sparse value.
#pragma once

#include <optional>

#include "exporter/passes/quantized/fit.h"

namespace tern::quantized {

/// Keeps the two numbers of each four of a row that are not zero, in their own type, and their places; empty if three
/// of them are not zero. Zeros of either sign are equal.
std::optional<Fitted> fit_two_of_four(const WeightMatrix& matrix);

}  // namespace tern::quantized
