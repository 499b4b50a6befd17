#include "loader/memory_pages.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <utility>

#include "platform/memory.h"

namespace tern {

MemoryPages::MemoryPages(std::size_t size) : size_(size) {
  if (size == 0) return;
  data_ = platform::allocate_pages(size);
  if (data_ == nullptr) fail(ErrorCode::out_of_memory, fmt::format("cannot allocate {} bytes for weights", size));
}

MemoryPages::~MemoryPages() {
  if (data_ != nullptr) platform::free_pages(data_, size_);
}

MemoryPages::MemoryPages(MemoryPages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MemoryPages& MemoryPages::operator=(MemoryPages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

std::byte* MemoryPages::detach() {
  size_ = 0;
  return std::exchange(data_, nullptr);
}

}  // namespace tern
