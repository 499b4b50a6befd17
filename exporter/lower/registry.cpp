// Joins the tables of lowerings, searched by target.
#include <algorithm>
#include <vector>

#include "exporter/lower/collective.h"
#include "exporter/lower/lower.h"

namespace tern {
namespace {

std::vector<Lowering> gathered() {
  std::vector<Lowering> lowerings;
  for (std::span<const Lowering> table :
       {pointwise_lowerings(), movement_lowerings(),     creation_lowerings(),      reduction_lowerings(),
        indexing_lowerings(),  contraction_lowerings(),  normalization_lowerings(), gradient_lowerings(),
        loss_lowerings(),      linalg_lowerings(),       fft_lowerings(),           optim_lowerings(),
        foreach_lowerings(),   random_lowerings(),       prim_lowerings(),          audio_lowerings(),
        vision_lowerings(),    quantization_lowerings(), collective_lowerings(),    symmetric_memory_lowerings()}) {
    lowerings.insert(lowerings.end(), table.begin(), table.end());
  }
  // Keeps the first of two lines for one target, in the order of families above.
  std::stable_sort(lowerings.begin(), lowerings.end(),
                   [](const Lowering& a, const Lowering& b) { return a.target < b.target; });
  lowerings.erase(std::unique(lowerings.begin(), lowerings.end(),
                              [](const Lowering& a, const Lowering& b) { return a.target == b.target; }),
                  lowerings.end());
  return lowerings;
}

}  // namespace

std::span<const Lowering> all_lowerings() {
  static const std::vector<Lowering> lowerings = gathered();
  return lowerings;
}

LowerFn find_lowering(std::string_view target) {
  const std::span<const Lowering> lowerings = all_lowerings();
  const auto it = std::lower_bound(lowerings.begin(), lowerings.end(), target,
                                   [](const Lowering& l, std::string_view t) { return l.target < t; });
  return it != lowerings.end() && it->target == target ? it->lower : nullptr;
}

}  // namespace tern
