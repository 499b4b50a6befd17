// Divides a device's memory into blocks and reuses freed blocks.
#pragma once

#include <tern/memory.h>

#include <cstdint>

namespace tern {

/// Not thread-safe: the device holds a lock.
class BlockAllocator {
 public:
  virtual ~BlockAllocator() = default;
  /// Returns an address aligned to 256 bytes within its segment or range; 0 if memory or the limit is exhausted.
  virtual std::uint64_t allocate(std::uint64_t bytes) = 0;
  virtual void free(std::uint64_t address) = 0;
  /// Bytes of a block in use; 0: no such block.
  virtual std::uint64_t size_of(std::uint64_t address) const = 0;
  /// Returns memory without used blocks to the device.
  virtual void trim() = 0;
  /// Limits the memory taken from the device; 0: no limit.
  void set_limit(std::uint64_t bytes) { stats_.limit = bytes; }
  const DeviceMemoryStats& stats() const { return stats_; }
  /// Uncounts a failure: the caller's next attempt succeeded.
  void forget_failure() { --stats_.out_of_memory; }

 protected:
  DeviceMemoryStats stats_;
};

/// Size of a block for `bytes` bytes.
constexpr std::uint64_t block_size(std::uint64_t bytes) {
  constexpr std::uint64_t kAlignment = 256;
  return ((bytes == 0 ? 1 : bytes) + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace tern
