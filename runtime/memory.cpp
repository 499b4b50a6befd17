#include "runtime/memory.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/devices/device.h"

namespace tern {

void FreeMemory::operator()(std::byte* p) const {
  if (device != nullptr) {
    device->free(p);
  } else {
    std::free(p);
  }
}

void Buffer::reserve(std::uint64_t bytes, Device* device) {
  if (data_ != nullptr && bytes <= size_) return;
  data_.reset();
  size_ = 0;
  const std::uint64_t rounded = std::max<std::uint64_t>((bytes + 63) / 64 * 64, 64);
  if (device != nullptr) {
    data_ = {device->allocate(rounded), FreeMemory{device}};
  } else {
    data_ = {static_cast<std::byte*>(std::aligned_alloc(64, rounded)), FreeMemory{}};
    if (data_ == nullptr) fail(ErrorCode::out_of_memory, fmt::format("{} bytes could not be allocated", bytes));
  }
  size_ = rounded;
}

}  // namespace tern
