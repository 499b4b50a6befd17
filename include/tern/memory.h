// The memory of devices. All sessions of a process share this memory: Tern allocates segments and divides the segments
// into blocks. Any thread may call these functions. All throw tern::Error (invalid_argument) for "cpu": the CPU's
// memory is the host's.
#pragma once

#include <tern/api.h>

#include <cstdint>
#include <string>

namespace tern {

struct DeviceMemoryStats {
  std::uint64_t used = 0;           ///< bytes of blocks in use
  std::uint64_t peak = 0;           ///< the largest value of `used` so far
  std::uint64_t reserved = 0;       ///< bytes of all segments
  std::uint64_t segments = 0;       ///< number of segments; 1 if the device maps memory into a single address range
  std::uint64_t allocations = 0;    ///< blocks allocated so far
  std::uint64_t out_of_memory = 0;  ///< failed allocations so far
  std::uint64_t limit = 0;          ///< largest value of `reserved`; 0: all memory of the device
};

TERN_API DeviceMemoryStats device_memory(const std::string& device);
/// Limits the bytes of all segments; 0: no limit except the device's memory. The initial limit is TERN_DEVICE_MEMORY in
/// the environment ("512M", "4G"). Memory in use is not affected.
TERN_API void set_device_memory_limit(const std::string& device, std::uint64_t bytes);
/// Frees the segments without a block in use.
TERN_API void release_device_memory(const std::string& device);

}  // namespace tern
