// Pooling of float planes: the maximum or mean of each window, several windows at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/planes/layout.h"

namespace tern::planes {

/// True if `Pooling` takes the window: at most two dimensions, and enough overlap to pay for a padded plane.
bool is_plane_pool(const cpu::Window& w);

/// Pools plane after plane on one thread. The first of equal elements wins, in row order; NaN is the largest. Uses the
/// thread's buffers, so an object must not outlive its call.
class Pooling {
 public:
  Pooling(const cpu::Window& w, bool max);

  /// y = the maximum, or the sum, of each window of plane x.
  void run(const float* x, float* y);

 private:
  const PlaneLoops& loops_;
  cpu::WindowAxis h_, w_;
  bool max_;
  Bands bands_;
  std::vector<std::int64_t> taps_;      ///< taps of the whole window, or of a window row
  std::vector<std::int64_t> vertical_;  ///< taps of a column of row results; empty: direct reduction
  float *padded_, *lines_ = nullptr, *result_;
};

}  // namespace tern::planes
