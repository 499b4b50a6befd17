// Joins the tables of lowerings, searched by target.
#include <algorithm>
#include <vector>

#include "exporter/lower/collective.h"
#include "exporter/lower/lower.h"

namespace tern {
namespace {

std::vector<Lowering> gathered() {
  std::vector<Lowering> all;
  for (std::span<const Lowering> table :
       {pointwise_lowerings(), movement_lowerings(),     creation_lowerings(),      reduction_lowerings(),
        indexing_lowerings(),  contraction_lowerings(),  normalization_lowerings(), gradient_lowerings(),
        loss_lowerings(),      linalg_lowerings(),       fft_lowerings(),           optim_lowerings(),
        foreach_lowerings(),   random_lowerings(),       prim_lowerings(),          audio_lowerings(),
        vision_lowerings(),    quantization_lowerings(), collective_lowerings(),    symmetric_memory_lowerings()}) {
    all.insert(all.end(), table.begin(), table.end());
  }
  // Keeps the first of two lines for one target, in the order of families above.
  std::stable_sort(all.begin(), all.end(), [](const Lowering& a, const Lowering& b) { return a.target < b.target; });
  all.erase(
      std::unique(all.begin(), all.end(), [](const Lowering& a, const Lowering& b) { return a.target == b.target; }),
      all.end());
  return all;
}

}  // namespace

std::span<const Lowering> all_lowerings() {
  static const std::vector<Lowering> all = gathered();
  return all;
}

LowerFn find_lowering(std::string_view target) {
  const std::span<const Lowering> all = all_lowerings();
  const auto it = std::lower_bound(all.begin(), all.end(), target,
                                   [](const Lowering& l, std::string_view t) { return l.target < t; });
  return it != all.end() && it->target == target ? it->lower : nullptr;
}

}  // namespace tern
