#include "tools/view/arena_blocks.h"

#include <algorithm>

namespace tern::view {
namespace {

/// Bytes from the first element of a view to the end of its last.
std::uint64_t span_bytes(const TensorView& v) {
  if (v.blocks.columns != 0 || elements_per_byte(v.dtype) > 1) {  // always contiguous
    TensorType type{v.dtype, {}, v.blocks};
    for (const std::int64_t size : v.shape()) type.shape.push_back(Dim(size));
    std::uint64_t bytes = 0;
    return byte_size(type, &bytes) ? bytes : 0;
  }
  std::int64_t last_element = 0;
  for (int i = 0; i < v.rank; ++i) {
    if (v.size(i) == 0) return 0;
    last_element += (v.size(i) - 1) * std::max<std::int64_t>(0, v.stride(i));
  }
  return static_cast<std::uint64_t>((last_element + 1) * element_size(v.dtype));
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
    placements_.resize(function_.values.size(), nullptr);
    for (const auto& [value, placement] : plan_.placed) placements_[static_cast<std::size_t>(value)] = &placement;
    for (std::uint32_t i = section_.begin; i < section_.end; ++i) {
      for (const ValueId v : function_.nodes[i].outputs) add(i, v);
    }
    add_copies();
    std::ranges::stable_sort(blocks_, {}, &ArenaBlock::first);
    return std::move(blocks_);
  }

 private:
  bool is_in_arena(const Location& location) const {
    return location.kind == Location::Kind::arena && location.index == plan_.key.section;
  }
  std::uint32_t final_step() const { return static_cast<std::uint32_t>(plan_.steps.size() - 1); }

  /// The first step of this or a later node.
  std::uint32_t first_step_from(std::uint32_t node) const {
    const auto step = std::ranges::lower_bound(plan_.steps, node, {}, &PlanStep::node);
    return std::min(final_step(), static_cast<std::uint32_t>(step - plan_.steps.begin()));
  }
  /// The last step of this or an earlier node.
  std::uint32_t last_step_until(std::uint32_t node) const {
    const auto step = std::ranges::upper_bound(plan_.steps, node, {}, &PlanStep::node);
    return step == plan_.steps.begin() ? 0 : static_cast<std::uint32_t>(step - plan_.steps.begin() - 1);
  }

  /// The step that runs the kernel of this or a later node, behind the copies of its operands.
  std::uint32_t kernel_step_from(std::uint32_t node) const {
    std::uint32_t step = first_step_from(node);
    while (step < final_step() && plan_.steps[step + 1].node == plan_.steps[step].node) ++step;
    return step;
  }
  bool reads_block(const PlanStep& step, const ArenaBlock& b) const {
    for (std::uint32_t i = 0; i < step.inputs; ++i) {
      const Location& location = plan_.locations[step.args + i];
      const auto begin = static_cast<std::uint64_t>(location.offset);
      if (is_in_arena(location) && begin < b.end && b.begin < begin + span_bytes(plan_.args[step.args + i]))
        return true;
    }
    return false;
  }
  /// The last step of this or an earlier node that reads the block: a kernel may read a copy of it.
  std::uint32_t last_read(std::uint32_t node, const ArenaBlock& b) const {
    std::uint32_t step = last_step_until(node);
    while (step > 0 && plan_.steps[step - 1].node == plan_.steps[step].node && !reads_block(plan_.steps[step], b))
      --step;
    return step;
  }

  void add(std::uint32_t node, ValueId v) {
    if (v == kNoValue || placements_[static_cast<std::size_t>(v)] == nullptr) return;
    const auto& [view, location] = *placements_[static_cast<std::size_t>(v)];
    if (!is_in_arena(location)) return;
    const std::uint32_t last_use = facts_.last_use[static_cast<std::size_t>(v)];
    ArenaBlock b;
    b.begin = static_cast<std::uint64_t>(location.offset);
    b.end = b.begin + span_bytes(view);
    b.first = kernel_step_from(node);
    b.last = last_use > section_.end ? final_step() : std::max(b.first, last_read(std::max(node + 1, last_use) - 1, b));
    b.values = {v};
    // Joins the block of an operand: `v` is a view of it or was computed in place.
    for (const ValueId operand : function_.nodes[node].inputs) {
      const int block = operand == kNoValue ? -1 : block_of_[static_cast<std::size_t>(operand)];
      if (block < 0 || !blocks_[static_cast<std::size_t>(block)].meets(b)) continue;
      join(blocks_[static_cast<std::size_t>(block)], b);
      block_of_[static_cast<std::size_t>(v)] = block;
      return;
    }
    block_of_[static_cast<std::size_t>(v)] = static_cast<int>(blocks_.size());
    blocks_.push_back(std::move(b));
  }

  static void join(ArenaBlock& target, const ArenaBlock& b) {
    target.begin = std::min(target.begin, b.begin);
    target.end = std::max(target.end, b.end);
    target.first = std::min(target.first, b.first);
    target.last = std::max(target.last, b.last);
    target.values.insert(target.values.end(), b.values.begin(), b.values.end());
  }

  /// Adds arguments of steps outside of all values: contiguous copies, other layouts.
  void add_copies() {
    const std::size_t value_block_count = blocks_.size();
    for (std::uint32_t s = 0; s < plan_.steps.size(); ++s) {
      const PlanStep& step = plan_.steps[s];
      for (std::uint32_t argument = 0; argument < step.inputs + step.outputs; ++argument) {
        const Location& location = plan_.locations[step.args + argument];
        if (!is_in_arena(location)) continue;
        const auto begin = static_cast<std::uint64_t>(location.offset);
        const ArenaBlock b{begin, begin + span_bytes(plan_.args[step.args + argument]), s, s, {}};
        if (std::ranges::any_of(blocks_, [&](const ArenaBlock& block) { return block.meets(b); })) continue;
        if (argument >= step.inputs || !extend_copy(value_block_count, b)) blocks_.push_back(b);
      }
    }
  }

  /// Extends the lifetime of an earlier step's copy of the same bytes to the step of `read`; false if another block
  /// overwrites the bytes in between.
  bool extend_copy(std::size_t first_copy, const ArenaBlock& read) {
    for (std::size_t i = blocks_.size(); i-- > first_copy;) {
      ArenaBlock extended = blocks_[i];
      if (extended.begin > read.begin || extended.end < read.end) continue;
      extended.last = read.last;
      for (std::size_t other = 0; other < blocks_.size(); ++other) {
        if (other != i && blocks_[other].meets(extended)) return false;
      }
      blocks_[i] = extended;
      return true;
    }
    return false;
  }

  const SectionPlan& plan_;
  const Function& function_;
  const FunctionFacts& facts_;
  const Section section_;
  std::vector<const Placed*> placements_;
  std::vector<int> block_of_;  ///< indexed by value
  std::vector<ArenaBlock> blocks_;
};

}  // namespace

std::vector<ArenaBlock> arena_blocks(const PreparedProgram& prepared, const SectionPlan& plan) {
  return ArenaBlockFinder(prepared, plan).find();
}

}  // namespace tern::view
