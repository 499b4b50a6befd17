// A step of AdamW over lists of tensors, compared with copying as many bytes.
#pragma once

#include <cstdint>

namespace tern::bench {

/// Prepares a program of `tensors` float32 parameters of `size` elements with AdamW, and for each line of standard
/// input runs a step and a copy, and prints the milliseconds of both: bench/optimizers.py alternates with other
/// programs. `eight_bits`: states of 8 bits (16 bytes per parameter and step).
void serve_optim(std::int64_t tensors, std::int64_t size, bool eight_bits);

}  // namespace tern::bench
