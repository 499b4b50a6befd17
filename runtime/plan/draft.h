// A plan under construction: data exchanged between passes.
#pragma once

#include <tern/error.h>

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "runtime/devices/section_parts.h"
#include "runtime/plan/blocks.h"
#include "runtime/plan/concrete.h"
#include "runtime/plan/request.h"

namespace tern {

/// A memory viewed by values: an input, a state, a block of this section's arena, or a result of an earlier section.
struct Root {
  std::int32_t block = -1;     ///< index in Draft::blocks; -1 for memory outside this section
  Location location;           ///< start of the memory
  std::uint32_t last_use = 0;  ///< like FunctionFacts::last_use, over all values placed in the root so far
  std::uint64_t bytes = 0;     ///< size of a block
};
using RootId = std::int32_t;
inline constexpr RootId kNoRoot = -1;

/// A view and its root.
struct PlannedOperand {
  Placed placed;
  RootId root = kNoRoot;
};

/// Roots of one node's operands and results, for nodes with thousands of operands.
struct RootUses {
  std::uint32_t node = ~std::uint32_t{0};
  std::unordered_map<RootId, std::uint32_t> operands;  ///< number of operands in each root
  std::unordered_set<RootId> results;
  std::size_t results_seen = 0;
};

struct Draft {
  explicit Draft(PlanRequest request);
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  const PlanRequest request;
  const PreparedProgram& prepared;
  const Program& program;
  const Function& f;
  const FunctionFacts& facts;
  const Section section;
  const Concrete concrete;
  SectionPlan plan;

  std::vector<const Node*> resolved;       ///< nodes of the section with constant attributes
  double intensity = 0;                    ///< like KernelCall::intensity
  std::vector<bool> read_channels_last;    ///< true for values with a reader that takes channels last
  std::vector<SectionPart> section_parts;  ///< parts the device may take
  std::vector<std::int32_t> part_of;       ///< part of each node of the section, or -1; empty without parts
  std::vector<Placed> values;              ///< location of each value; Location::Kind::none if not placed yet
  std::vector<RootId> root_of;             ///< root of each value
  std::vector<std::uint32_t> last_use;     ///< FunctionFacts::last_use or later
  std::vector<bool> rounded;               ///< true for float32 values stored as bfloat16; or empty
  std::vector<ValueId> placed_values;      ///< values placed by this section
  std::vector<MemoryBlock> blocks;
  std::vector<Root> roots;
  std::vector<RootId> arg_root;     ///< parallel to SectionPlan::args
  std::vector<RootId> output_root;  ///< parallel to SectionPlan::outputs
  RootUses root_uses;               ///< uses of the last queried large node
  /// Keyed by the result of a starting collective: its operand and the copy being sent.
  std::unordered_map<ValueId, std::pair<ValueId, PlannedOperand>> sent;

  const TensorType& type(ValueId v) const { return f.values[static_cast<std::size_t>(v)].type; }
  /// Contiguous view of a value of this section.
  TensorView view(ValueId v) const;
  /// Bytes of the value stored as `view`.
  std::uint64_t bytes(ValueId v, const TensorView& view) const;
  /// Bytes of a placed constant or view of a constant; else null.
  const std::byte* constant_bytes(ValueId v) const;
  Placed& placed(ValueId v) { return values[static_cast<std::size_t>(v)]; }
  RootId& root(ValueId v) { return root_of[static_cast<std::size_t>(v)]; }
  PlannedOperand operand(ValueId v) { return {placed(v), root(v)}; }
  const Node& node(std::uint32_t i) const { return *resolved[i - section.begin]; }
  Root& root_at(RootId root) { return roots[static_cast<std::size_t>(root)]; }
  /// Returns null for memory outside this section's blocks.
  MemoryBlock* block_of(RootId root);

  RootId new_root(Root root);
  RootId new_block(std::uint64_t bytes);
  /// Makes `v` a view into memory `root`.
  void place_value(ValueId v, const TensorView& view, std::int64_t offset, RootId root);
  /// Extends a block's life to the end of the run.
  void extend_lifetime(RootId root);

  void add_arg(const PlannedOperand& operand);
  /// Adds a step with the arguments `inputs`, then `outputs`.
  PlanStep& add_step(PlanStep::Kind kind, std::uint32_t node, const std::vector<PlannedOperand>& inputs,
                     const std::vector<PlannedOperand>& outputs);
  /// Copies value `v`.
  void add_copy(std::uint32_t node, ValueId v, const PlannedOperand& from, const PlannedOperand& to);
  /// Copies `v` with this view's strides into a new block.
  PlannedOperand copied(ValueId v, std::uint32_t node, const TensorView& view);
  /// A contiguous version of `v`, copied if necessary or `always`.
  PlannedOperand contiguous(ValueId v, std::uint32_t node, bool always = false);

  /// A state's view with the state's own strides. Packed elements are always contiguous; strides of empty states mean
  /// nothing.
  TensorView state_view(const State& s) const;

  /// Runs `work` for a node; errors name the node.
  template <class Work>
  void run_for_node(std::uint32_t node, const Work& work) const;
};

template <class Work>
void Draft::run_for_node(std::uint32_t node, const Work& work) const {
  try {
    work();
  } catch (const Error& e) {
    fail(e.code(), describe(prepared, request.key.function, node) + ": " + e.what());
  }
}

}  // namespace tern
