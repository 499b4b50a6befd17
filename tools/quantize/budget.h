// Chooses formats for weights: the least error of the results within a number of bits.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/quantize/effects.h"
#include "tools/quantize/raising_order.h"

namespace tern {

/// Rung of each weight within `bytes`: all raises of raising_order() that fit, in order. A raise that does not fit ends
/// the raises of its weight. Fails (invalid_argument) if the smallest rungs take more.
std::vector<std::size_t> rungs_within(const std::vector<std::vector<Rung>>& weights, std::uint64_t bytes);

struct BudgetFormats {
  QuantizeChoices choices;
  double bits = 0;  ///< reached: bits for each number of the quantizable weights
};

/// Formats with at most `bits` bits for each number of the quantizable weights, scales included.
BudgetFormats formats_within(const Ladders& ladders, const std::vector<WeightEffect>& effects, double bits);

}  // namespace tern
