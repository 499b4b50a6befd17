// Device graphs created by frames: steps repeated with equal addresses run as a device graph, started in the time of a
// few launches. Results have the same bits with and without graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/context.h"
#include "runtime/devices/abilities.h"
#include "runtime/graph/timed_graph.h"
#include "runtime/plan/plan.h"

namespace tern {

/// Device graphs of one plan in one frame. TERN_DEVICE_GRAPHS=0 disables them.
class KeptGraphs {
 public:
  /// Returns null if the device has no graphs or the plan has no suitable steps.
  static std::unique_ptr<KeptGraphs> create(const SectionPlan& plan, std::uint32_t function,
                                            const SessionContext& context);

  /// True if a graph may begin with this step.
  bool can_begin_at(std::size_t step) const;
  /// Starts the graph beginning at this step and returns its number of steps; 0: run the steps one by one. `args`: the
  /// plan's arguments with the addresses of this run; `enqueue` enqueues a step on the stream.
  std::size_t run(SessionContext& context, const std::vector<TensorView>& args, std::size_t step,
                  const std::function<void(const PlanStep&)>& enqueue);

 private:
  /// A graph of the steps for particular addresses.
  struct Variant {
    std::vector<const std::byte*> addresses;
    std::uint64_t last = 0;  ///< the last run with these addresses
    int run_count = 0;
    std::uint64_t bytes_copied = 0;  ///< per launch, counted like SessionContext::bytes_copied
    std::unique_ptr<DeviceGraph> graph;
    std::unique_ptr<TimedGraph> timed;  ///< graph of traced runs; null before the first
  };
  /// Steps suitable for a graph, with their arguments.
  struct Span {
    std::size_t begin = 0, end = 0, first = 0, last = 0;
    std::vector<Variant> variants;
    Variant moving;      ///< its graph gets the addresses of each run without a graph of its own
    int run_count = 0;   ///< runs so far, up to the first graph
    int recorded = 0;    ///< number of graphs made so far
    bool fails = false;  ///< the device cannot record the steps
  };
  Variant& variant(Span& span, const std::vector<TensorView>& args, const std::byte* scratch);
  /// Launches the variant's graph of traced runs. False if the device cannot; then nothing has run.
  bool run_timed(SessionContext& context, const std::vector<TensorView>& args, const Span& span, Variant& variant,
                 const std::function<void(const PlanStep&)>& enqueue) const;
  /// Makes the variant's graph.
  void record(SessionContext& context, Span& span, Variant& variant,
              const std::function<void(const PlanStep&)>& enqueue);
  /// Gives the moving graph the addresses of `variant`. False without such a graph.
  bool move(SessionContext& context, Span& span, const Variant& variant,
            const std::function<void(const PlanStep&)>& enqueue);

  const SectionPlan* plan_ = nullptr;
  std::uint32_t function_ = 0;
  std::vector<Span> spans_;
  std::uint64_t clock_ = 0;
};

}  // namespace tern
