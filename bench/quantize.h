// How fast weights become quantized values.
#pragma once

namespace tern::bench {

/// Quantizes a matrix of float32 and of bfloat16 in each format of `tern export --quantize`, on all cores, in turns
/// with copying it; prints a line for each.
void measure_quantize();

}  // namespace tern::bench
