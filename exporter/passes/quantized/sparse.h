// A matrix of numbers as a 2:4 sparse value.
#pragma once

#include <optional>

#include "exporter/passes/quantized/fit.h"

namespace tern::quantized {

/// Of each four numbers of a row the two that are not zero, in their own type, and their places; nothing where more are
/// none. Zeros of either sign are equal.
std::optional<Fitted> fit_two_of_four(const Numbers& numbers);

}  // namespace tern::quantized
