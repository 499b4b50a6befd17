// Buffers shared by the host and the GPU. Addresses are the GPU's.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <memory>

#include "devices/metal/devices.h"

namespace tern::metal {

/// A buffer accessible to kernels during its life.
class DeviceBuffer {
 public:
  DeviceBuffer(Owned<MTL::Buffer> buffer, Owned<MTL::ResidencySet> residency);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  MTL::Buffer* get() const { return buffer_.get(); }

 private:
  Owned<MTL::Buffer> buffer_;
  Owned<MTL::ResidencySet> residency_;  // null for Metal 3 (automatic residency)
};

/// Returns null if Metal has no memory.
std::shared_ptr<DeviceBuffer> new_buffer(const MetalDevice& device, std::uint64_t bytes);

/// Location of an address.
struct BufferRange {
  MTL::Buffer* buffer = nullptr;  ///< null: outside this plugin's memory
  std::uint64_t offset = 0;       ///< offset in bytes
  std::uint64_t bytes = 0;        ///< bytes from the address to the end of the buffer

  std::byte* host() const { return static_cast<std::byte*>(buffer->contents()) + offset; }
};

BufferRange range_of(tern_device_address address);
/// Fails if the bytes do not lie in a single buffer.
tern_device_status checked_range(tern_device_address address, std::uint64_t bytes, BufferRange& range);

tern_device_status allocate(std::int32_t device, std::uint64_t bytes, tern_device_address* address);
tern_device_status release(std::int32_t device, tern_device_address address);

}  // namespace tern::metal
