// Graphs that a frame makes by itself: of steps that run again and again with the same addresses, the device gets a
// graph, since it starts a graph in the time of a few launches. Runs give the same bits with and without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/context.h"
#include "runtime/devices/abilities.h"
#include "runtime/plan/plan.h"

namespace tern {

/// Of one plan as one frame runs it. TERN_DEVICE_GRAPHS=0 leaves them out.
class KeptGraphs {
 public:
  /// None where the device has no graphs or the plan has no steps for one.
  static std::unique_ptr<KeptGraphs> of(const Plan& plan, const SessionContext& context);

  /// Whether a graph may begin with this step.
  bool begins(std::size_t step) const;
  /// Starts the graph that begins with this step, and returns the number of its steps; 0: they have to run one by one.
  /// `args`: the plan's, with the addresses of this run; `put` puts a step on the stream.
  std::size_t run(SessionContext& context, const std::vector<TensorView>& args, std::size_t step,
                  const std::function<void(const Step&)>& put);

 private:
  /// The steps for certain addresses.
  struct Variant {
    std::vector<const std::byte*> addresses;
    std::uint64_t last = 0;  ///< the run that had them
    int runs = 0;
    std::uint64_t bytes_copied = 0;  ///< by a launch, as SessionContext counts them
    std::unique_ptr<DeviceGraph> graph;
  };
  /// Steps that a graph can hold, with their arguments.
  struct Span {
    std::size_t begin = 0, end = 0, first = 0, last = 0;
    std::vector<Variant> variants;
    int recorded = 0;  ///< graphs made so far
  };
  Variant& variant(Span& span, const std::vector<TensorView>& args, const std::byte* scratch);
  void record(SessionContext& context, Span& span, Variant& variant, const std::function<void(const Step&)>& put);

  const Plan* plan_ = nullptr;
  std::vector<Span> spans_;
  std::uint64_t clock_ = 0;
};

}  // namespace tern
