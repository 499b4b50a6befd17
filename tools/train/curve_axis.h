// Axis ranges for drawing a curve.
#pragma once

#include "tools/train/curve.h"

namespace tern::train {

struct CurveAxes {
  double last_step = 1;
  double low = 0, high = 1;  ///< range of losses
  bool logarithmic = false;

  /// 0 at `low`, 1 at `high`.
  double height(double loss) const;
  /// The loss at a height.
  double loss(double height) const;
};

CurveAxes axes_of(const Curve& curve);

}  // namespace tern::train
