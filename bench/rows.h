// Reductions, softmax and normalizations of 64 MB on devices, beside copying as many bytes there.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tern::bench {

/// Prints a table for each device: the least milliseconds of 15 turns by the device's clock, and the bytes of an op's
/// operands and results in a second as a share of those of a copy. `length`: elements of a row.
void measure_rows(std::span<const std::string> devices, std::int64_t length);

}  // namespace tern::bench
