#include "runtime/memory.h"

#include <algorithm>

#include "runtime/devices/device.h"

namespace tern {

template <MemoryPlace kPlace>
void FreeMemory<kPlace>::operator()(std::byte* p) const {
  kPlace == MemoryPlace::device ? device->free(p) : device->free_host(p);
}

template <MemoryPlace kPlace>
void BufferIn<kPlace>::reserve(std::uint64_t bytes, Device& device, DeviceStream* user) {
  if (data_ != nullptr && bytes <= size_) return;
  data_.reset();
  size_ = 0;
  constexpr std::uint64_t kAlignment = 64;
  const std::uint64_t rounded = std::max((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
  std::byte* const data =
      kPlace == MemoryPlace::device ? device.allocate(rounded, user) : device.allocate_host(rounded);
  data_ = {data, FreeMemory<kPlace>{&device}};
  size_ = rounded;
}

template struct FreeMemory<MemoryPlace::device>;
template struct FreeMemory<MemoryPlace::host>;
template class BufferIn<MemoryPlace::device>;
template class BufferIn<MemoryPlace::host>;

}  // namespace tern
