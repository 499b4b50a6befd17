// Uninitialized memory for a tensor to be written: a vector of bytes would first fill it with zeros, on one thread.
// Large tensors use large pages if available: with small pages, page faults take a third of the time of quantizing.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "platform/memory.h"

namespace tern {

class RawBytes {
 public:
  RawBytes() = default;
  explicit RawBytes(std::size_t size);

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  std::span<const std::byte> span() const { return {data_.get(), size_}; }

 private:
  struct FreeBytes {
    void operator()(std::byte* p) const { platform::free_aligned(p); }
  };
  std::unique_ptr<std::byte[], FreeBytes> data_;
  std::size_t size_ = 0;
};

}  // namespace tern
