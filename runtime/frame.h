// A function run by a session: its plans, its memory, and the frames of its control flow's bodies.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "runtime/context.h"
#include "runtime/graph/kept_graphs.h"
#include "runtime/memory.h"
#include "runtime/plan/plan.h"
#include "runtime/prepared.h"
#include "runtime/profile.h"

namespace tern {

class CallerOutputs;

/// A plan as run by one frame.
struct PlanRun {
  explicit PlanRun(std::shared_ptr<const SectionPlan> p) : plan(std::move(p)), args(plan->args) {}
  std::shared_ptr<const SectionPlan> plan;
  std::vector<TensorView> args;  ///< the plan's arguments with the addresses of this run
  std::uint64_t used = 0;        ///< time of the last run, for eviction
  std::unique_ptr<KeptGraphs> graphs;

  std::span<TensorView> inputs(const PlanStep& s) { return {args.data() + s.args, s.inputs}; }
  std::span<TensorView> outputs(const PlanStep& s) { return {args.data() + s.args + s.inputs, s.outputs}; }
};

class Frame {
 public:
  Frame(SessionContext& context, std::uint32_t function);

  /// Runs the function. `inputs`: one contiguous view per entry of Function::inputs (kinds state and none are ignored).
  /// `inherited`: values of the program's symbols known to the caller, kUndefined for others; empty for an entry
  /// function (input sizes are checked against their expressions). Results are valid until the next run. `outputs`: the
  /// caller's memory for results, checked before the last section runs; kernels write there if possible.
  const std::vector<TensorView>& run(std::span<const TensorView> inputs, std::span<const std::int64_t> inherited,
                                     CallerOutputs* outputs = nullptr);

  /// Makes every plan for these values of the program's symbols without running.
  void plan(std::span<const std::int64_t> symbols);
  /// Like plan(), and requests the kernels determined only during a run (runtime/rehearse.h).
  void rehearse(std::span<const std::int64_t> symbols);

  const Function& function() const { return f_; }
  std::string describe(std::uint32_t node) const { return tern::describe(prepared_, index_, node); }
  SessionContext& context() const { return context_; }
  std::span<const std::int64_t> symbols() const { return symbols_; }
  Frame& child(std::uint32_t node, std::uint32_t slot);
  /// Memory of a data-dependent value, grown to `bytes` bytes.
  std::byte* dynamic(ValueId v, std::uint64_t bytes);
  /// Fails if the found sizes of a data-dependent result contradict the program's declaration. Requires values for all
  /// symbols of the node.
  void check_found(std::uint32_t node, std::size_t output, const TensorView& found);
  /// Gives a symbol its value. Fails outside the symbol's range, or if the symbol already has a value.
  void bind(Dim symbol, std::int64_t value);
  std::uint64_t arena_bytes() const;
  /// Adds the parts compiled by the device, and their nodes.
  void count_parts(SessionStats& stats) const;

 private:
  struct SectionState {
    std::vector<std::unique_ptr<PlanRun>> plan_runs;
    PlanRun* current = nullptr;
    Buffer arena;
  };
  void bind_inputs(std::span<const TensorView> inputs);
  void check_inputs(std::span<const TensorView> inputs) const;
  void evaluate_expressions();
  PlanRun& plan_for(std::uint32_t section);
  std::shared_ptr<const SectionPlan> shared_plan(const PlanKey& key);
  void locate(PlanRun& run, std::span<const TensorView> inputs);
  void execute(PlanRun& run);
  void execute(PlanRun& run, const PlanStep& step);
  void measure(PlanRun& run, const PlanStep& step);
  void record(PlanRun& run, const PlanStep& step);
  void run_kernel(PlanRun& run, const PlanStep& step);
  std::byte* base(const Location& location, std::span<const TensorView> inputs);

  SessionContext& context_;
  const PreparedProgram& prepared_;
  const Program& program_;
  const Function& f_;
  const FunctionFacts& facts_;
  std::uint32_t index_;
  std::vector<std::int64_t> symbols_, expressions_;
  std::vector<std::int64_t> evaluated_;  ///< symbol values used for `expressions_`
  bool expressions_valid_ = false;
  bool rehearses_ = false;  ///< symbols have values before their nodes run
  std::vector<SectionState> sections_;
  std::vector<std::byte*> constants_;
  std::map<ValueId, Buffer> dynamic_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::unique_ptr<Frame>> children_;
  std::vector<TensorView> results_;
  PlanKey key_;
};

/// Runs a control flow node. `in` and `out` as in KernelCall; data-dependent sizes are bound in the frame.
void run_control(Frame& frame, std::uint32_t node, const Node& resolved, std::span<TensorView> in,
                 std::span<TensorView> out);

}  // namespace tern
