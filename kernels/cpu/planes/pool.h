// Pooling of float planes: the largest element or the mean of each window, several windows at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/planes/layout.h"

namespace tern::planes {

/// That `Pooling` takes it: at most two dimensions, and windows that are worth loading a padded plane for.
bool is_plane_pool(const cpu::Window& w);

/// What one thread needs to pool plane after plane. Of equal elements the first is taken, in the order of rows; a NaN
/// is larger than everything. Its buffers are the thread's: it must not outlive the call that made it.
class Pooling {
 public:
  Pooling(const cpu::Window& w, bool max);

  /// y = the largest, or the sum, of each window of plane x.
  void run(const float* x, float* y);

 private:
  const PlaneLoops& loops_;
  cpu::WindowAxis h_, w_;
  bool max_;
  Bands bands_;
  std::vector<std::int64_t> taps_;      ///< of the whole window, or of one of its rows
  std::vector<std::int64_t> vertical_;  ///< of a column of the rows' results; empty: not taken apart
  float *padded_, *lines_ = nullptr, *result_;
};

}  // namespace tern::planes
