// The memory of devices, which all sessions of a process share: segments that grow, divided into blocks.
#pragma once

#include <tern/api.h>

#include <cstdint>
#include <string>

namespace tern {

struct DeviceMemoryStats {
  std::uint64_t used = 0;           ///< bytes of blocks that are in use
  std::uint64_t peak = 0;           ///< the most that `used` has been
  std::uint64_t reserved = 0;       ///< bytes of all segments: what the device has given
  std::uint64_t segments = 0;       ///< how many; 1 where memory is mapped into one range of addresses
  std::uint64_t allocations = 0;    ///< blocks handed out so far
  std::uint64_t out_of_memory = 0;  ///< how often a block could not be handed out
  std::uint64_t limit = 0;          ///< most bytes of segments; 0: what the device has
};

/// All fail for "cpu", whose memory is the host's.
TERN_API DeviceMemoryStats device_memory(const std::string& device);
/// Segments grow to this many bytes in all; 0: to what the device has. At first what TERN_DEVICE_MEMORY in the
/// environment says ("512M", "4G"). What is in use already stays.
TERN_API void set_device_memory_limit(const std::string& device, std::uint64_t bytes);
/// Gives segments without blocks in use back to the device.
TERN_API void release_device_memory(const std::string& device);

}  // namespace tern
