// What this processor was measured to do: the constants in the costs of algorithms.
#pragma once

namespace tern::cpu {

/// Of one thread.
struct Machine {
  double products = 1;  ///< multiply-adds of floats a second, by the processor's vectors
  double on_tiles = 0;  ///< the same on its matrix tiles; 0 without them
  double bytes = 1;     ///< that it copies a second in its second-level cache
};

/// Measured at the first call, which takes about a millisecond. Two measurements differ by a few percent. Without tiles
/// nothing is measured: then all algorithms run on vectors, and their costs have one unit. From any thread.
const Machine& machine();

}  // namespace tern::cpu
