#include "exporter/training/loss_scale.h"

#include "exporter/rewrite.h"
#include "exporter/training/methods.h"
#include "exporter/training/states.h"

namespace tern {
namespace {

// Constants of torch.amp.GradScaler.
constexpr double kGrowth = 2, kBackoff = 0.5, kGrowthInterval = 2000;

}  // namespace

LossScale::LossScale(Program& program, const std::string& prefix, double first)
    : scale_(add_training_state(program, prefix + std::string(training::kLossScaleState), {DType::f32, {}}, first)),
      steps_(add_training_state(program, prefix + std::string(training::kLossScaleStepsState), {DType::f32, {}}, 0)) {}

ValueId LossScale::seed(Builder& b, DType dtype) const {
  return b.cast(value_of_state(b.program(), b.function(), scale_), dtype);
}

std::vector<ValueId> LossScale::unscaled(Builder& b, const std::vector<ValueId>& gradients) const {
  const ValueId scale = value_of_state(b.program(), b.function(), scale_);
  std::vector<ValueId> results;
  for (const ValueId g : gradients) {
    const DType dtype = element_size(b.dtype(g)) == 2 ? DType::f32 : b.dtype(g);
    results.push_back(b.expr("g / s", {{"g", g}, {"s", scale}}, dtype));
  }
  return results;
}

ValueId LossScale::found_inf(Builder& b, const std::vector<ValueId>& gradients) {
  std::vector<ValueId> overflow_flags;
  for (const ValueId g : gradients) {
    const ValueId bad = b.expr("isnan(g) || isinf(g) ? 1 : 0", {{"g", g}}, b.dtype(g), DType::f32);
    overflow_flags.push_back(b.unsqueeze(b.reduce(bad, "max", b.all_axes(bad), false, DType::f32), 0));
  }
  return b.reduce(overflow_flags.size() == 1 ? overflow_flags[0] : b.concat(overflow_flags, 0), "max", {0}, false,
                  DType::f32);
}

void LossScale::update(Builder& b, ValueId found_inf) const {
  const ValueId scale = value_of_state(b.program(), b.function(), scale_);
  const ValueId steps = value_of_state(b.program(), b.function(), steps_);
  // A scale that would be infinite does not grow.
  const ValueId grown_scale = b.expr("n + 1 < m ? s : (s * g < inf ? s * g : s)",
                                     {{"n", steps}, {"m", kGrowthInterval}, {"s", scale}, {"g", kGrowth}}, DType::f32);
  write_state(
      b, scale_,
      b.expr("i != 0 ? s * h : g", {{"i", found_inf}, {"s", scale}, {"h", kBackoff}, {"g", grown_scale}}, DType::f32));
  write_state(
      b, steps_,
      b.expr("i != 0 || n + 1 >= m ? 0 : n + 1", {{"i", found_inf}, {"n", steps}, {"m", kGrowthInterval}}, DType::f32));
}

}  // namespace tern
