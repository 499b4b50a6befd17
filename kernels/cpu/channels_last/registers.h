// Epilogues applied to results in registers.
#pragma once

#include "kernels/cpu/channels_last/convolve.h"
#include "kernels/cpu/products/float32/strided_microkernel.h"

namespace tern::channels_last {

/// The part of `finish`, and the bias, for `columns` channels from `channel` on: `add` is that of the first result of
/// all. The bias lies in a buffer of the thread, until it asks for the next.
strided_product::RegisterEpilogue finish_in_registers(const ChannelsLastOperands& at,
                                                      const pointwise::BoundEpilogue& finish, std::int64_t channel,
                                                      int columns);

}  // namespace tern::channels_last
