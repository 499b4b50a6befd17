// How fast weights become quantized values.
#pragma once

#include <string_view>

namespace tern::bench {

/// Quantizes a matrix of float32, of bfloat16 and of float16 in each format of `tern export --quantize`, or in `only`,
/// on all cores, in turns with copying it; prints a line for each. "bytes": what is read and written, over what copying
/// reads and writes in the same time.
void measure_quantize(std::string_view only);

}  // namespace tern::bench
