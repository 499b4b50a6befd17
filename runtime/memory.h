// Memory that grows and is reused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tern {

class Device;

/// Of a device, or of the host for its copies (Device::allocate_host).
enum class MemoryPlace : std::uint8_t { device, host };

template <MemoryPlace kPlace>
struct FreeMemory {
  Device* device = nullptr;
  void operator()(std::byte* p) const;
};

/// 64-byte aligned; contents are lost when it grows. Fails with out_of_memory.
template <MemoryPlace kPlace>
class BufferIn {
 public:
  std::byte* data() const { return data_.get(); }
  std::uint64_t size() const { return size_; }
  /// At least this many bytes, also for none: data() is never null after it. Always of the same device.
  void reserve(std::uint64_t bytes, Device& device);

 private:
  std::unique_ptr<std::byte, FreeMemory<kPlace>> data_;
  std::uint64_t size_ = 0;
};
using Buffer = BufferIn<MemoryPlace::device>;
using HostBuffer = BufferIn<MemoryPlace::host>;

}  // namespace tern
