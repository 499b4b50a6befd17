#include "runtime/memory.h"

#include <algorithm>

#include "runtime/devices/device.h"

namespace tern {

void FreeMemory::operator()(std::byte* p) const {
  device->free(p);
}

void FreeHostMemory::operator()(std::byte* p) const {
  device->free_host(p);
}

namespace {

std::uint64_t rounded(std::uint64_t bytes) {
  constexpr std::uint64_t kAlignment = 64;
  return std::max((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
}

}  // namespace

void Buffer::reserve(std::uint64_t bytes, Device& device) {
  if (data_ != nullptr && bytes <= size_) return;
  data_.reset();
  size_ = 0;
  data_ = {device.allocate(rounded(bytes)), FreeMemory{&device}};
  size_ = rounded(bytes);
}

void HostBuffer::reserve(std::uint64_t bytes, Device& device) {
  if (data_ != nullptr && bytes <= size_) return;
  data_.reset();
  size_ = 0;
  data_ = {device.allocate_host(rounded(bytes)), FreeHostMemory{&device}};
  size_ = rounded(bytes);
}

}  // namespace tern
