// Arena of a section: blocks and their values.
#include "runtime/limits.h"
#include "runtime/plan/passes.h"

namespace tern {
namespace {

/// Fills in SectionPlan::output_args.
void find_output_args(Draft& d) {
  SectionPlan& plan = d.plan;
  plan.output_args.resize(plan.outputs.size());
  std::vector<std::int32_t> output_of(d.roots.size(), -1);  // -2: of several
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const MemoryBlock* block = d.block_of(d.output_root[i]);
    if (block == nullptr) continue;
    const auto root = static_cast<std::size_t>(d.output_root[i]);
    const auto& [view, at] = plan.outputs[i];
    const bool whole = at.offset == static_cast<std::int64_t>(block->offset) && view.contiguous() &&
                       elements_per_byte(view.dtype) == 1 &&
                       static_cast<std::uint64_t>(view.numel() * element_size(view.dtype)) == d.roots[root].bytes;
    output_of[root] = whole && output_of[root] == -1 ? static_cast<std::int32_t>(i) : -2;
  }
  for (std::uint32_t a = 0; a < plan.args.size(); ++a) {
    const std::int32_t i = d.arg_root[a] == kNoRoot ? -1 : output_of[static_cast<std::size_t>(d.arg_root[a])];
    if (i >= 0) plan.output_args[static_cast<std::size_t>(i)].push_back(a);
  }
}

}  // namespace

void pack_arena(Draft& d) {
  SectionPlan& plan = d.plan;
  plan.arena_bytes = pack(d.blocks);
  // Checks the limit before kernels prepare tables as large as their results.
  RunLimits().check_memory(plan.arena_bytes, d.prepared.options);
  const auto settle = [&](Location& at, RootId root) {
    if (const MemoryBlock* block = d.block_of(root)) at.offset += static_cast<std::int64_t>(block->offset);
  };
  for (std::size_t i = 0; i < plan.args.size(); ++i) settle(plan.locations[i], d.arg_root[i]);
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) settle(plan.outputs[i].location, d.output_root[i]);
  plan.placed.reserve(d.placed_values.size());
  for (ValueId v : d.placed_values) {
    settle(d.placed(v).location, d.root(v));
    plan.placed.emplace_back(v, d.placed(v));
  }
  find_output_args(d);
}

}  // namespace tern
