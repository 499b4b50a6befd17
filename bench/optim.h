// A step of AdamW over lists of tensors, beside copying as many bytes.
#pragma once

#include <cstdint>

namespace tern::bench {

/// Prepares a program of `tensors` float32 parameters of `size` elements with AdamW, and for each line of standard
/// input makes a step and a copy, and prints the milliseconds of both: bench/optimizers.py takes turns with other
/// programs. `eight_bits`: the states, which is a step of 16 bytes a parameter.
void serve_optim(std::int64_t tensors, std::int64_t size, bool eight_bits);

}  // namespace tern::bench
