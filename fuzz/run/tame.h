// Data that make results worth comparing: rounding values, mostly valid positions, regular matrices; sometimes special
// values.
#pragma once

#include <tern/dtype.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/run/choices.h"

namespace tern::fuzz {

/// yes: some data have infinities, NaN and tiny values, and some many equal values.
enum class SpecialData : bool { no, yes };

/// Fills a contiguous tensor; booleans are 0 or 1.
void fill_tame(Choices& c, DType dtype, std::span<const std::int64_t> sizes, std::span<std::byte> bytes,
               SpecialData special = SpecialData::yes);

}  // namespace tern::fuzz
