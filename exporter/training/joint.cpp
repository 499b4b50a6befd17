#include "exporter/training/joint.h"

#include <algorithm>
#include <string_view>

#include "exporter/gradients/differentiate.h"

namespace tern {
namespace {

constexpr std::string_view kGradientResult = "grad:";

bool is_gradient(const FunctionOutput& o) {
  return o.name.starts_with(kGradientResult);
}

}  // namespace

bool is_joint(const Function& f) {
  return std::ranges::any_of(f.outputs, is_gradient);
}

void leave_joint_gradients(Function& f) {
  f.writebacks.clear();
  std::erase_if(f.outputs, is_gradient);
}

std::vector<ValueId> joint_gradients(Builder& b, const std::vector<TrainedParameter>& parameters) {
  std::vector<ValueId> gradients;
  for (const TrainedParameter& p : parameters) {
    ValueId gradient = kNoValue;
    for (const FunctionOutput& o : b.function().outputs) {
      for (std::uint32_t s : p.tied_states) {
        if (is_gradient(o) && o.name.substr(kGradientResult.size()) == b.program().states[s].name)
          gradient = add_gradients(b, gradient, o.value);
      }
    }
    gradients.push_back(gradient);
  }
  return gradients;
}

}  // namespace tern
