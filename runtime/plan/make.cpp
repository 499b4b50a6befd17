#include "runtime/plan/make.h"

#include "runtime/plan/passes.h"
#include "runtime/plan/upcoming.h"

namespace tern {

std::shared_ptr<const SectionPlan> make_plan(PlanRequest request) {
  constexpr void (*kPasses[])(Draft&) = {resolve_sizes,  weigh_convolutions, find_channels_last_readers,
                                         find_parts,     place_inputs,       find_rounded,
                                         plan_steps,     plan_results,       pack_arena,
                                         mark_constants, prepare_kernels};
  Draft d(std::move(request));
  for (const auto pass : kPasses) pass(d);
  plan_upcoming(d.plan);
  return std::make_shared<const SectionPlan>(std::move(d.plan));
}

}  // namespace tern
