// Memory that grows and is reused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tern {

class Device;

struct FreeMemory {
  Device* device = nullptr;  ///< where there is memory
  void operator()(std::byte* p) const;
};

struct FreeHostMemory {
  Device* device = nullptr;
  void operator()(std::byte* p) const;
};

/// Of a device, 64-byte aligned; contents are lost when it grows. Fails with out_of_memory.
class Buffer {
 public:
  std::byte* data() const { return data_.get(); }
  std::uint64_t size() const { return size_; }
  /// At least this many bytes, also for none: data() is never null after it. Always of the same device.
  void reserve(std::uint64_t bytes, Device& device);

 private:
  std::unique_ptr<std::byte, FreeMemory> data_;
  std::uint64_t size_ = 0;
};

/// The same of the host, for copies of a device (Device::allocate_host).
class HostBuffer {
 public:
  std::byte* data() const { return data_.get(); }
  std::uint64_t size() const { return size_; }
  void reserve(std::uint64_t bytes, Device& device);

 private:
  std::unique_ptr<std::byte, FreeHostMemory> data_;
  std::uint64_t size_ = 0;
};

}  // namespace tern
