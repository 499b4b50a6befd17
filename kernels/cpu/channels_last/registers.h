// Epilogues applied to results in registers.
#pragma once

#include "kernels/cpu/channels_last/convolve.h"
#include "kernels/cpu/sgemm/micro.h"

namespace tern::channels_last {

/// Returns the share of `finish`, and the bias, for `columns` channels from `channel` on: `add` belongs to the first
/// result of all. The bias lies in a thread buffer until the next call.
sgemm_micro::Finish finish_in_registers(const Operands& at, const pointwise::Finish& finish, std::int64_t channel,
                                        int columns);

}  // namespace tern::channels_last
