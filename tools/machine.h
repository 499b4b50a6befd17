// Measured limits of this machine, the scale of a program's speed.
#pragma once

#include <tern/dtype.h>

namespace tern {

struct MachinePeaks {
  double copy_bytes = 0;    ///< bytes per second, read and written, of copying between buffers larger than the caches
  double read_bytes = 0;    ///< bytes per second of reading a buffer larger than the caches
  double flops = 0;         ///< floating-point operations per second of a large float32 matrix product
  double cached_bytes = 0;  ///< copy_bytes between buffers in the second-level caches
  double cached_size = 0;   ///< bytes up to which buffers are copied at that rate
  double f64 = 0, bf16 = 0, i8 = 0;  ///< operations per second of products of other types; `flops` where none is faster
  double call_seconds = 0;           ///< shortest loop on all threads

  /// Operations per second of products of a type.
  double products_of(DType type) const;
  /// Copied bytes per second of a node with so many bytes of operands and results.
  double copy_rate(double bytes) const;
};

/// The best of several tries with the current number of threads (threads/threads.h); takes one to three seconds.
MachinePeaks measure_peaks();

}  // namespace tern
