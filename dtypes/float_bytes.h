// Converts runs of float32 to 8-bit integers, used for quantizing activations.
#pragma once

#include <cstdint>

namespace tern {

/// Converts each like cast_to (cast.h). The two runs must not overlap.
void bytes_of_floats(const float* src, std::uint8_t* dst, std::int64_t count);
void bytes_of_floats(const float* src, std::int8_t* dst, std::int64_t count);

}  // namespace tern
