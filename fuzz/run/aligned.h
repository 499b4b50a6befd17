// Bytes at an address that is a multiple of 64, as archives need. No spare bytes follow, so that sanitizers detect
// overruns.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace tern::fuzz {

class Aligned {
 public:
  explicit Aligned(std::span<const std::byte> bytes)
      : size_(bytes.size()), data_(static_cast<std::byte*>(::operator new (bytes.size(), std::align_val_t{64}))) {
    if (!bytes.empty()) std::memcpy(data_.get(), bytes.data(), bytes.size());
  }
  std::span<std::byte> span() { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  std::size_t size_;
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace tern::fuzz
