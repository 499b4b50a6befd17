#include "kernels/cpu/channels_last/registers.h"

#include <algorithm>

#include "kernels/cpu/scratch.h"

namespace tern::channels_last {

strided_product::RegisterEpilogue finish_in_registers(const ChannelsLastOperands& at,
                                                      const pointwise::BoundEpilogue& finish, std::int64_t channel,
                                                      int columns) {
  constexpr std::size_t kBiasSlot = 6;
  strided_product::RegisterEpilogue f;
  if (at.bias != nullptr) {
    auto* bias = thread_buffer<float>(strided_product::kMostColumns, kBiasSlot);
    std::fill_n(bias, strided_product::kMostColumns, 0.0F);
    std::copy_n(at.bias + channel, columns, bias);
    f.bias = bias;
  }
  if (const pointwise::SimpleEpilogue* s = finish.simple()) {
    f.low = s->low;
    f.high = s->high;
    if (s->operand >= 0) f.add = finish.call->in[static_cast<std::size_t>(s->operand)].data_as<const float>();
  }
  return f;
}

}  // namespace tern::channels_last
