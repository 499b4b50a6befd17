// Memory that grows and is reused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tern {

/// 64-byte aligned; contents are lost when it grows. Fails with out_of_memory.
class Buffer {
 public:
  std::byte* data() const { return data_.get(); }
  std::uint64_t size() const { return size_; }
  /// At least this many bytes.
  void reserve(std::uint64_t bytes);

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  std::uint64_t size_ = 0;
};

}  // namespace tern
