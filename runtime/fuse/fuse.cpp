#include "runtime/fuse/fuse.h"

#include <utility>

#include "runtime/fuse/hoist.h"
#include "runtime/fuse/uses.h"

namespace tern {

FusedFunction fuse(Function exported, bool products, bool solves) {
  const std::size_t count = exported.nodes.size();
  FunctionInFusion f(std::move(exported));
  for (std::uint32_t i = 0; products && i < count; ++i) {
    if (f.is_removed[i]) continue;
    if (f.f.nodes[i].op == Op::attention) join_mask(f, i);
    if (f.f.nodes[i].op == Op::softmax) join_softmax(f, i);
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    if (f.is_removed[i]) continue;
    if (solves && f.f.nodes[i].op == Op::lu_solve) join_factor(f, i);
    if (products && f.f.nodes[i].op == Op::reduce) join_reduction(f, i);
    if (f.f.nodes[i].op != Op::pointwise || f.f.nodes[i].outputs[0] == kNoValue) continue;
    while (merge_operands(f, i)) {
    }
    if (products) join_product(f, i);
  }
  FusedFunction fused = f.finish();
  if (products) hoist_rows(fused);
  return fused;
}

FusedFunction unfused(Function exported) {
  FusedFunction result{std::move(exported), {}};
  for (std::uint32_t i = 0; i < result.function.nodes.size(); ++i) result.numbers.push_back(i);
  return result;
}

}  // namespace tern
