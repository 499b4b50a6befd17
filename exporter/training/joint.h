// Joint graphs: functions whose results are a loss and the gradients "grad:NAME" of parameters
// (torch.export.experimental._export_forward_backward).
#pragma once

#include <vector>

#include "exporter/builder.h"
#include "exporter/training/parameters.h"

namespace tern {

bool is_joint(const Function& f);
/// Without the gradients, and without what a step updates.
void leave_joint_gradients(Function& f);
/// The gradients of the parameters; kNoValue where the function has none.
std::vector<ValueId> joint_gradients(Builder& b, const std::vector<TrainedParameter>& parameters);

}  // namespace tern
