// Text of a step's events: fields of PyTorch's profiler, and the node's location in the program.
#pragma once

#include <tern/collective.h>

#include <span>
#include <string>

#include "runtime/plan/plan.h"
#include "runtime/prepared.h"
#include "runtime/trace/event.h"

namespace tern {

EventLabel label_of_step(const PreparedProgram& prepared, std::uint32_t function, const PlanStep& step,
                         std::span<const TensorView> in, std::span<const TensorView> out);
/// Annotations of the step's node, "precision=high, stage=2"; empty without annotations.
std::string annotations_of_step(const Program& program, std::uint32_t function, const PlanStep& step);
/// PyTorch's name in traces: "float", "c10::BFloat16"; Tern's own name for other types.
std::string_view traced_name(DType t);

/// Members of a collective's event in the format of PyTorch's record_param_comms. rank -1: any rank.
std::string collective_args(const Collective& call, std::string_view group, int rank, int ranks);
/// The member naming the group.
std::string group_arg(std::string_view group);

}  // namespace tern
