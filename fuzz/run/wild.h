// Data for tensors: small values, ascending values, or the extremes of their type.
#pragma once

#include <tern/dtype.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/run/choices.h"

namespace tern::fuzz {

/// Fills a contiguous run of elements; booleans are 0 or 1.
void fill(Choices& c, DType dtype, std::span<std::byte> bytes);

}  // namespace tern::fuzz
