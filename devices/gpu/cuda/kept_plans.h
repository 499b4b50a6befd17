// Plans on disk, beside Tern's own programs: those whose kernels cuDNN compiles. cuDNN writes a plan with its machine
// code as JSON and takes it back in milliseconds.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "devices/gpu/cuda/cudnn_engines.h"
#include "devices/gpu/libraries/shape.h"

namespace tern::gpu {

/// The text of numbers and lists that decide what a plan is.
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

/// Null where none is kept under the name for the target, or cuDNN does not take it any more.
std::unique_ptr<CudnnPlan> kept_plan(const CudnnApi& api, const CudnnTarget& target, const PlanName& name);

/// Failures are no matter: then it is compiled again next time. Nothing where the target keeps none.
void keep_plan(const CudnnApi& api, const CudnnTarget& target, const PlanName& name, const CudnnPlan& plan);

}  // namespace tern::gpu
