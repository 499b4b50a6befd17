#include "runtime/fuse/fuse.h"

#include "runtime/fuse/uses.h"

namespace tern {

FusedFunction fuse(const Function& exported, bool products) {
  FunctionInFusion f(exported);
  for (std::uint32_t i = 0; i < exported.nodes.size(); ++i) {
    if (f.f.nodes[i].op != Op::pointwise || f.f.nodes[i].outputs[0] == kNoValue) continue;
    while (merge_operands(f, i)) {
    }
    if (products) join_product(f, i);
  }
  return f.finish();
}

FusedFunction unfused(const Function& exported) {
  FusedFunction result{exported, {}};
  for (std::uint32_t i = 0; i < exported.nodes.size(); ++i) result.numbers.push_back(i);
  return result;
}

}  // namespace tern
