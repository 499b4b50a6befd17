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

/// Opens all mapped memory of the device to another device, by the other's driver id.
void open_pieces(const GpuDevice& d, int peer);

/// Granularity of mapped memory; 0 if the driver does not map memory.
std::uint64_t piece_of(const GpuDevice& d);

}  // namespace tern::gpu
