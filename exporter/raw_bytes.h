// Memory for a tensor that is about to be written: a vector of bytes would fill it with zeros first, on one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace tern {

class RawBytes {
 public:
  RawBytes() = default;
  explicit RawBytes(std::size_t size) : data_(std::make_unique_for_overwrite<std::byte[]>(size)), size_(size) {}

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  std::span<const std::byte> span() const { return {data_.get(), size_}; }

 private:
  std::unique_ptr<std::byte[]> data_;
  std::size_t size_ = 0;
};

}  // namespace tern
