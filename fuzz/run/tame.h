// Data for tensors whose results are worth comparing: numbers that round, positions that mostly exist, matrices that
// have factors; now and then special numbers.
#pragma once

#include <tern/dtype.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/run/choices.h"

namespace tern::fuzz {

/// Whether some data have infinities, NaN and tiny numbers, and some many equal ones.
enum class Special : bool { no, yes };

/// Fills a contiguous tensor; booleans are 0 or 1.
void fill_tame(Choices& c, DType dtype, std::span<const std::int64_t> sizes, std::span<std::byte> bytes,
               Special special = Special::yes);

}  // namespace tern::fuzz
