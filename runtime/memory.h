// Growing, reusable memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tern {

class Device;
class DeviceStream;

/// Memory of a device, or host memory for its copies (Device::allocate_host).
enum class MemoryPlace : std::uint8_t { device, host };

template <MemoryPlace kPlace>
struct FreeMemory {
  Device* device = nullptr;
  void operator()(std::byte* p) const;
};

/// 64-byte aligned; growing discards the contents. Fails with out_of_memory.
template <MemoryPlace kPlace>
class BufferIn {
 public:
  std::byte* data() const { return data_.get(); }
  std::uint64_t size() const { return size_; }
  /// Grows to at least this many bytes. data() is never null afterwards, even for 0 bytes. The device must not change.
  /// `user` as in Device::allocate.
  void reserve(std::uint64_t bytes, Device& device, DeviceStream* user = nullptr);

 private:
  std::unique_ptr<std::byte, FreeMemory<kPlace>> data_;
  std::uint64_t size_ = 0;
};
using Buffer = BufferIn<MemoryPlace::device>;
using HostBuffer = BufferIn<MemoryPlace::host>;

}  // namespace tern
