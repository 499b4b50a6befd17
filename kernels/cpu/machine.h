// What a processor does: the constants in the costs of algorithms.
#pragma once

#include <tern/precision.h>

namespace tern::cpu {

/// Of one thread.
struct Machine {
  double products = 1;       ///< multiply-adds of floats a second, by the processor's vectors
  double tile_products = 0;  ///< the same on its matrix tiles; 0 without them
  /// By which an element of an image costs tiles more than loops over channels: it is split in three and brought into
  /// planes. So that both cost the same at 300 operations per element on a Xeon with AMX, where tiles took 0.82 of the
  /// time of loops in resnet50 (375 operations per element), 1.07 in densenet121 (260), 1.75 in mobilenet_v3_large
  /// (48).
  double plane_bytes = 65;
  double bytes = 1;  ///< that it copies a second in its second-level cache
  /// Seconds of an element that is packed or transposed beside a product; 0 where nothing was measured.
  double packed_element = 0;
};

/// With tiles as they multiply in this precision. The figures are fixed: whatever runs beside it, a process takes the
/// algorithms that others take on such a processor, so a training run that is resumed has the same bits. Processors
/// with tiles differ in their clock, which all figures follow. Without tiles all algorithms run on vectors, and their
/// costs have one unit.
const Machine& machine(Precision precision = Precision::exported);

/// True if products of bfloat16 rows (kernels/cpu/products/tiles/rows.h) are faster than those of floats, here: on
/// tiles they are; vectors are measured once in a process.
bool rows_pay();

}  // namespace tern::cpu
