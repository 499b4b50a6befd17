#include "loader/memory_pages.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <tern/error.h>

#include <utility>

namespace tern {

MemoryPages::MemoryPages(std::size_t size) : size_(size) {
  if (size == 0) return;
  void* p = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) fail(ErrorCode::out_of_memory, fmt::format("cannot allocate {} bytes for weights", size));
  data_ = static_cast<std::byte*>(p);
}

MemoryPages::~MemoryPages() {
  if (data_ != nullptr) ::munmap(data_, size_);
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
