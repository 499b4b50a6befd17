// Runs of float32 to integers of 8 bits: quantized activations are made in such runs.
#pragma once

#include <cstdint>

namespace tern {

/// Each as cast_to (cast.h) makes it. The two runs must not overlap.
void bytes_of_floats(const float* src, std::uint8_t* dst, std::int64_t count);
void bytes_of_floats(const float* src, std::int8_t* dst, std::int64_t count);

}  // namespace tern
