// Loss scaling for float16, like torch.amp.GradScaler: gradients are computed of the loss times a scale, so that small
// ones do not vanish. A step with a gradient that is not finite is skipped and halves the scale; 2000 steps without
// such a gradient double it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exporter/builder.h"

namespace tern {

/// Adds the states PREFIXloss_scale (`first`) and PREFIXloss_scale_steps (steps since the last change).
class LossScale {
 public:
  /// `prefix` precedes the names of the states.
  LossScale(Program& program, const std::string& prefix, double first);

  /// The scale in a function: the gradient of the loss to begin with.
  ValueId seed(Builder& b, DType dtype) const;
  /// Divides by the scale; 16-bit gradients become float32.
  std::vector<ValueId> unscaled(Builder& b, const std::vector<ValueId>& gradients) const;
  /// A float32 number: 0 if all are finite, else 1.
  static ValueId found_inf(Builder& b, const std::vector<ValueId>& gradients);
  /// Writes the next scale.
  void update(Builder& b, ValueId found_inf) const;

 private:
  std::uint32_t scale_ = 0, steps_ = 0;
};

}  // namespace tern
