// cuDNN plans on disk, beside Tern's own programs: plans whose kernels cuDNN compiles. cuDNN serializes a plan with its
// machine code as JSON and loads it within milliseconds.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "devices/gpu/cuda/cudnn_engines.h"
#include "devices/gpu/libraries/shape.h"

namespace tern::gpu {

/// Text identifying a plan by numbers and lists.
class PlanName {
 public:
  explicit PlanName(const char* op) : text_(op) {}
  PlanName& add(double number);
  PlanName& add(const std::vector<std::int64_t>& numbers);
  PlanName& add(const Shape& shape) { return add(shape.sizes).add(shape.strides); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// Returns null if no plan is stored under the name for the target, or cuDNN no longer accepts the plan.
std::unique_ptr<CudnnPlan> kept_plan(const CudnnApi& api, const CudnnTarget& target, const PlanName& name);

/// Stores the plan, unless the target has no key. Ignores failures: the next process compiles again.
void keep_plan(const CudnnApi& api, const CudnnTarget& target, const PlanName& name, const CudnnPlan& plan);

}  // namespace tern::gpu
