// Zeroed memory from the system, for large buffers: pages take memory once touched.
#pragma once

#include <cstddef>
#include <span>

namespace tern {

/// Page-aligned. Throws Error (out_of_memory).
class MemoryPages {
 public:
  MemoryPages() = default;
  explicit MemoryPages(std::size_t size);
  ~MemoryPages();
  MemoryPages(MemoryPages&& other) noexcept;
  MemoryPages& operator=(MemoryPages&& other) noexcept;

  std::span<std::byte> bytes() { return {data_, size_}; }
  /// Gives up ownership: the caller calls munmap.
  std::byte* detach();

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tern
