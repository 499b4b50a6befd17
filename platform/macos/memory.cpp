#include "platform/memory.h"

#include <sys/mman.h>

namespace tern::platform {

void clear_pages(std::byte* pages, std::size_t size) {
  // MADV_DONTNEED keeps the bytes on macOS.
  ::mmap(pages, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

bool clear_aligned(std::byte* /*pages*/, std::size_t /*size*/) {
  return false;  // the allocator owns the mapping
}

void prefer_large_pages(const void* /*pages*/, std::size_t /*size*/) {}

const std::byte* map_file(const File& file, std::size_t size, bool load) {
  void* const bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, static_cast<int>(file.handle()), 0);
  if (bytes == MAP_FAILED) return nullptr;
  if (load) ::madvise(bytes, size, MADV_WILLNEED);
  return static_cast<const std::byte*>(bytes);
}

}  // namespace tern::platform
