#include "runtime/devices/plugin/pinned_memory.h"

#include "runtime/devices/plugin/device.h"

namespace tern {
namespace {

constexpr std::uint64_t kMost = std::uint64_t{1} << 30;  // limit, because no other process can use pinned pages

}  // namespace

std::byte* PinnedMemory::allocate(std::uint64_t bytes) {
  const tern_device_pinned_memory_functions* pinned = device_.tables().pinned_memory;
  if (pinned == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  if (bytes > kMost - bytes_) return nullptr;
  void* memory = nullptr;
  const tern_device_status status = pinned->allocate(device_.index(), bytes, &memory);
  if (status == TERN_DEVICE_UNSUPPORTED || status == TERN_DEVICE_OUT_OF_MEMORY) return nullptr;
  device_.check(status, "allocating pinned memory");
  auto* data = static_cast<std::byte*>(memory);
  blocks_[data] = bytes;
  bytes_ += bytes;
  return data;
}

bool PinnedMemory::free(std::byte* data) {
  const std::lock_guard lock(mutex_);
  const auto block = blocks_.find(data);
  if (block == blocks_.end()) return false;
  bytes_ -= block->second;
  blocks_.erase(block);
  device_.tables().pinned_memory->free(device_.index(), data);
  return true;
}

}  // namespace tern
