// Measured limits of this machine, the scale of a program's speed.
#pragma once

namespace tern {

struct MachinePeaks {
  double copy_bytes = 0;  ///< bytes per second, read and written, of copying between buffers larger than the caches
  double read_bytes = 0;  ///< bytes per second of reading a buffer larger than the caches
  double flops = 0;       ///< floating-point operations per second of a large float32 matrix product
};

/// The best of several tries with OpenMP's current number of threads; takes one to two seconds.
MachinePeaks measure_peaks();

/// Private memory of this process (RssAnon) in bytes; 0 if unknown.
double private_memory();

}  // namespace tern
