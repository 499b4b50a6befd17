#include "exporter/optimizers/list_step.h"

#include <algorithm>

namespace tern::optimizers {

ListResults add_list_step(Builder& b, const ListStep& step) {
  std::vector<ValueId> operands;
  std::vector<std::int64_t> counts;
  for (const auto& list : step.lists) {
    operands.insert(operands.end(), list.begin(), list.end());
    counts.push_back(static_cast<std::int64_t>(list.size()));
  }
  // Older readers know the node without scales.
  const bool coded = std::ranges::any_of(kOptimCoded, [&](OptimList list) { return !step[scales_of(list)].empty(); });
  if (!coded) counts.resize(kOptimPlainLists);
  Node n;
  n.op = Op::optim;
  n.inputs = std::move(operands);
  n.attrs = {attr(AttrKey::kind, Dim(static_cast<std::int64_t>(step.kind))), attr_numbers(AttrKey::hyper, step.hyper),
             attr(AttrKey::mode, Dim(step.mode)), attr(AttrKey::maximize, Dim(step.maximize)),
             attr(AttrKey::counts, counts)};
  const OptimLayout layout(n);
  const std::vector<ValueId> values = b.add(std::move(n));
  ListResults results;
  for (OptimList list : kOptimResults) {
    for (std::size_t i = 0; layout.is_result(list) && i < layout.count(list); ++i)
      results[static_cast<std::size_t>(list)].push_back(values.at(layout.result(list, i)));
  }
  return results;
}

}  // namespace tern::optimizers
