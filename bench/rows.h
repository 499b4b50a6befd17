// Reductions, softmax and normalizations of 64 MB on devices, compared with copying as many bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tern::bench {

/// Prints a table for each device: the least milliseconds of 15 turns by the device's clock, and the bandwidth of an
/// op's operands and results as a share of a copy's bandwidth. `length`: elements of a row.
void measure_rows(std::span<const std::string> devices, std::int64_t length);

}  // namespace tern::bench
