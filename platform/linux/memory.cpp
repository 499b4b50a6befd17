#include "platform/memory.h"

#include <sys/mman.h>

namespace tern::platform {

void clear_pages(std::byte* pages, std::size_t size) {
  ::madvise(pages, size, MADV_DONTNEED);
}

bool clear_aligned(std::byte* pages, std::size_t size) {
  return ::madvise(pages, size, MADV_DONTNEED) == 0;
}

void prefer_large_pages(const void* pages, std::size_t size) {
  ::madvise(const_cast<void*>(pages), size, MADV_HUGEPAGE);
}

const std::byte* map_file(const File& file, std::size_t size, bool load) {
  const int flags = MAP_PRIVATE | (load ? MAP_POPULATE : 0);
  void* const bytes = ::mmap(nullptr, size, PROT_READ, flags, static_cast<int>(file.handle()), 0);
  return bytes == MAP_FAILED ? nullptr : static_cast<const std::byte*>(bytes);
}

}  // namespace tern::platform
