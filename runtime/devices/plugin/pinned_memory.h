// Host memory for DMA copies by a device ("pinned_memory" of tern/device.h). Copies to other host memory block the host
// and are half as fast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace tern {

class PluginDevice;

class PinnedMemory {
 public:
  explicit PinnedMemory(const PluginDevice& device) : device_(device) {}
  /// Returns null if the device has no pinned memory, is out of pinned memory, or Tern has reached its own limit (for
  /// the sake of other processes).
  std::byte* allocate(std::uint64_t bytes);
  /// Returns false for other memory.
  bool free(std::byte* data);

 private:
  const PluginDevice& device_;
  std::mutex mutex_;
  std::map<std::byte*, std::uint64_t> blocks_;  ///< bytes of each
  std::uint64_t bytes_ = 0;
};

}  // namespace tern
