// Speed of quantizing weights.
#pragma once

#include <string_view>

namespace tern::bench {

/// Quantizes a matrix of float32, of bfloat16 and of float16 in each format of `tern export --quantize`, or in `only`.
/// All cores take part, alternating with a copy. Prints a line for each format. "bytes": bytes read and written,
/// relative to the bytes of copying in the same time.
void measure_quantize(std::string_view only);

}  // namespace tern::bench
