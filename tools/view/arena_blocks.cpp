#include "tools/view/arena_blocks.h"

#include <algorithm>

namespace tern::view {
namespace {

/// Bytes from the first element of a view to the end of its last.
std::uint64_t extent(const TensorView& v) {
  if (v.blocks.columns != 0 || elements_per_byte(v.dtype) > 1) {  // always contiguous
    TensorType type{v.dtype, {}, v.blocks};
    for (const std::int64_t size : v.shape()) type.shape.push_back(Dim(size));
    std::uint64_t bytes = 0;
    return byte_size(type, &bytes) ? bytes : 0;
  }
  std::int64_t last = 0;
  for (int i = 0; i < v.rank; ++i) {
    if (v.size(i) == 0) return 0;
    last += (v.size(i) - 1) * std::max<std::int64_t>(0, v.stride(i));
  }
  return static_cast<std::uint64_t>((last + 1) * element_size(v.dtype));
}

class ArenaBlockFinder {
 public:
  ArenaBlockFinder(const PreparedProgram& prepared, const SectionPlan& plan)
      : plan_(plan),
        function_(prepared.functions[plan.key.function]),
        facts_(prepared.facts[plan.key.function]),
        section_(facts_.sections[plan.key.section]),
        block_of_(function_.values.size(), -1) {}

  std::vector<ArenaBlock> find() {
    if (plan_.steps.empty()) return {};
    places_.resize(function_.values.size(), nullptr);
    for (const auto& [value, placed] : plan_.placed) places_[static_cast<std::size_t>(value)] = &placed;
    for (std::uint32_t i = section_.begin; i < section_.end; ++i) {
      for (const ValueId v : function_.nodes[i].outputs) add(i, v);
    }
    add_copies();
    std::ranges::stable_sort(blocks_, {}, &ArenaBlock::first);
    return std::move(blocks_);
  }

 private:
  bool in_arena(const Location& at) const { return at.kind == Location::Kind::arena && at.index == plan_.key.section; }
  std::uint32_t final_step() const { return static_cast<std::uint32_t>(plan_.steps.size() - 1); }

  /// The first step of this or a later node.
  std::uint32_t step_from(std::uint32_t node) const {
    const auto at = std::ranges::lower_bound(plan_.steps, node, {}, &PlanStep::node);
    return std::min(final_step(), static_cast<std::uint32_t>(at - plan_.steps.begin()));
  }
  /// The last step of this or an earlier node.
  std::uint32_t step_until(std::uint32_t node) const {
    const auto at = std::ranges::upper_bound(plan_.steps, node, {}, &PlanStep::node);
    return at == plan_.steps.begin() ? 0 : static_cast<std::uint32_t>(at - plan_.steps.begin() - 1);
  }

  void add(std::uint32_t node, ValueId v) {
    if (v == kNoValue || places_[static_cast<std::size_t>(v)] == nullptr) return;
    const auto& [view, at] = *places_[static_cast<std::size_t>(v)];
    if (!in_arena(at)) return;
    const std::uint32_t last = facts_.last_use[static_cast<std::size_t>(v)];
    ArenaBlock b;
    b.begin = static_cast<std::uint64_t>(at.offset);
    b.end = b.begin + extent(view);
    b.first = step_from(node);
    b.last = last > section_.end ? final_step() : std::max(b.first, step_until(std::max(node + 1, last) - 1));
    b.values = {v};
    // Views, and results in an operand's memory.
    for (const ValueId operand : function_.nodes[node].inputs) {
      const int of = operand == kNoValue ? -1 : block_of_[static_cast<std::size_t>(operand)];
      if (of < 0 || !blocks_[static_cast<std::size_t>(of)].meets(b)) continue;
      join(blocks_[static_cast<std::size_t>(of)], b);
      block_of_[static_cast<std::size_t>(v)] = of;
      return;
    }
    block_of_[static_cast<std::size_t>(v)] = static_cast<int>(blocks_.size());
    blocks_.push_back(std::move(b));
  }

  static void join(ArenaBlock& to, const ArenaBlock& b) {
    to.begin = std::min(to.begin, b.begin);
    to.end = std::max(to.end, b.end);
    to.first = std::min(to.first, b.first);
    to.last = std::max(to.last, b.last);
    to.values.insert(to.values.end(), b.values.begin(), b.values.end());
  }

  /// Adds arguments of steps outside of all values: contiguous copies, other layouts.
  void add_copies() {
    const std::size_t values = blocks_.size();
    for (std::uint32_t s = 0; s < plan_.steps.size(); ++s) {
      const PlanStep& step = plan_.steps[s];
      for (std::uint32_t a = 0; a < step.inputs + step.outputs; ++a) {
        const Location& at = plan_.locations[step.args + a];
        if (!in_arena(at)) continue;
        const auto begin = static_cast<std::uint64_t>(at.offset);
        const ArenaBlock b{begin, begin + extent(plan_.args[step.args + a]), s, s, {}};
        if (std::ranges::any_of(blocks_, [&](const ArenaBlock& k) { return k.meets(b); })) continue;
        if (a >= step.inputs || !extend_copy(values, b)) blocks_.push_back(b);
      }
    }
  }

  /// Extends an earlier step's copy at the same bytes to `read`, if no other block was there in between.
  bool extend_copy(std::size_t first_copy, const ArenaBlock& read) {
    for (std::size_t i = blocks_.size(); i-- > first_copy;) {
      ArenaBlock longer = blocks_[i];
      if (longer.begin > read.begin || longer.end < read.end) continue;
      longer.last = read.last;
      for (std::size_t k = 0; k < blocks_.size(); ++k) {
        if (k != i && blocks_[k].meets(longer)) return false;
      }
      blocks_[i] = longer;
      return true;
    }
    return false;
  }

  const SectionPlan& plan_;
  const Function& function_;
  const FunctionFacts& facts_;
  const Section section_;
  std::vector<const Placed*> places_;
  std::vector<int> block_of_;  ///< indexed by value
  std::vector<ArenaBlock> blocks_;
};

}  // namespace

std::vector<ArenaBlock> arena_blocks(const PreparedProgram& prepared, const SectionPlan& plan) {
  return ArenaBlockFinder(prepared, plan).find();
}

}  // namespace tern::view
