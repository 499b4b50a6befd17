// Joint graphs: functions with a loss and the gradients "grad:NAME" of parameters as results
// (torch.export.experimental._export_forward_backward).
#pragma once

#include <vector>

#include "exporter/builder.h"
#include "exporter/training/parameters.h"

namespace tern {

bool is_joint(const Function& f);
/// Removes the gradients, and the values updated by a step.
void leave_joint_gradients(Function& f);
/// Gradients of the parameters; kNoValue for missing ones.
std::vector<ValueId> joint_gradients(Builder& b, const std::vector<TrainedParameter>& parameters);

}  // namespace tern
