// Device memory, and copies on a stream.
#pragma once

#include <tern/device.h>

#include <cstdint>

namespace tern::gpu {
struct GpuDevice;

tern_device_status allocate(std::int32_t device, std::uint64_t bytes, tern_device_address* address);
tern_device_status release(std::int32_t device, tern_device_address address);
tern_device_status copy_to_device(std::int32_t device, tern_device_stream stream, tern_device_address to,
                                  const void* from, std::uint64_t bytes);
tern_device_status copy_to_host(std::int32_t device, tern_device_stream stream, void* to, tern_device_address from,
                                std::uint64_t bytes);
tern_device_status copy_within(std::int32_t device, tern_device_stream stream, tern_device_address to,
                               tern_device_address from, std::uint64_t bytes);

/// Granularity of mapped memory; 0 if the driver does not map memory.
std::uint64_t piece_of(const GpuDevice& d);

}  // namespace tern::gpu
