// Memory of the host that a device copies to and from by itself ("pinned_memory" of tern/device.h). A copy to other
// memory of the host waits, and is half as fast.
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
  /// Null where the device has none or gives no more, or Tern has as much as it takes from other processes.
  std::byte* allocate(std::uint64_t bytes);
  /// False where it is other memory.
  bool free(std::byte* data);

 private:
  const PluginDevice& device_;
  std::mutex mutex_;
  std::map<std::byte*, std::uint64_t> blocks_;  ///< bytes of each
  std::uint64_t bytes_ = 0;
};

}  // namespace tern
