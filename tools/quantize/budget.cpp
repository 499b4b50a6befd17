#include "tools/quantize/budget.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cmath>

namespace tern {

std::vector<std::size_t> rungs_within(const std::vector<std::vector<Rung>>& weights, std::uint64_t bytes) {
  const RaisingOrder order = raising_order(weights);
  std::vector<std::size_t> rungs = order.start;
  std::uint64_t used_bytes = 0;
  for (std::size_t w = 0; w < weights.size(); ++w) used_bytes += weights[w][rungs[w]].bytes;
  if (used_bytes > bytes)
    fail(ErrorCode::invalid_argument,
         fmt::format("the smallest formats take {} bytes, more than {}", used_bytes, bytes));
  for (const Raise& r : order.raises) {
    const std::uint64_t added_bytes = weights[r.weight][r.to_rung].bytes - weights[r.weight][r.from_rung].bytes;
    if (rungs[r.weight] != r.from_rung || used_bytes + added_bytes > bytes) continue;
    used_bytes += added_bytes;
    rungs[r.weight] = r.to_rung;
  }
  return rungs;
}

BudgetFormats formats_within(const Ladders& ladders, const std::vector<WeightEffect>& effects, double bits) {
  std::vector<std::vector<Rung>> weights;
  std::uint64_t numbers = 0, min_bytes = 0;
  for (std::size_t w = 0; w < effects.size(); ++w) {
    weights.push_back(effects[w].rungs);
    numbers += ladders.weights[w].elements;
    min_bytes += std::ranges::min_element(effects[w].rungs, {}, &Rung::bytes)->bytes;
  }
  const auto bits_of = [&](std::uint64_t bytes) {
    return static_cast<double>(bytes) * 8 / static_cast<double>(numbers);
  };
  if (bits_of(min_bytes) > bits)
    fail(ErrorCode::invalid_argument,
         fmt::format("--bits {:g}: the smallest formats take {:.3f} bits for each number of the weights; ask for at "
                     "least {:.2f}, or add smaller formats to --quantize",
                     bits, bits_of(min_bytes), std::ceil(bits_of(min_bytes) * 100) / 100));
  const std::vector<std::size_t> rungs =
      rungs_within(weights, static_cast<std::uint64_t>(bits * static_cast<double>(numbers) / 8));
  BudgetFormats found;
  std::uint64_t used_bytes = 0;
  for (std::size_t w = 0; w < rungs.size(); ++w) {
    const WeightLadder& ladder = ladders.weights[w];
    used_bytes += weights[w][rungs[w]].bytes;
    QuantizeChoice& choice = found.choices[ladder.source];
    if (rungs[w] < ladder.formats.size()) {
      choice.recipe = ladder.formats[rungs[w]].recipe;
    } else {
      choice.reason = fmt::format("--bits {:g} leaves room for it", bits);
    }
  }
  found.bits = bits_of(used_bytes);
  return found;
}

}  // namespace tern
