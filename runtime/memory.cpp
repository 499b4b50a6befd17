#include "runtime/memory.h"

#include <algorithm>

#include "runtime/devices/device.h"

namespace tern {

void FreeMemory::operator()(std::byte* p) const {
  device->free(p);
}

void Buffer::reserve(std::uint64_t bytes, Device& device) {
  if (data_ != nullptr && bytes <= size_) return;
  data_.reset();
  size_ = 0;
  constexpr std::uint64_t kAlignment = 64;
  const std::uint64_t rounded = std::max((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
  data_ = {device.allocate(rounded), FreeMemory{&device}};
  size_ = rounded;
}

}  // namespace tern
