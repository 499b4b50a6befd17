#include "platform/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace tern::platform {

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

std::byte* allocate_pages(std::size_t size, Backing backing) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (backing == Backing::on_demand ? MAP_NORESERVE : 0);
  void* const pages = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, -1, 0);
  return pages == MAP_FAILED ? nullptr : static_cast<std::byte*>(pages);
}

void free_pages(std::byte* pages, std::size_t size) {
  ::munmap(pages, size);
}

void* allocate_aligned(std::size_t alignment, std::size_t size) {
  return std::aligned_alloc(alignment, size);
}

void* allocate_buffer(std::size_t alignment, std::size_t size) {
  return std::aligned_alloc(alignment, size);
}

void free_aligned(void* memory) {
  std::free(memory);
}

void unmap_file(const std::byte* bytes, std::size_t size) {
  ::munmap(const_cast<std::byte*>(bytes), size);
}

void release_mapped(const std::byte* bytes, std::size_t size) {
  const std::size_t before = reinterpret_cast<std::uintptr_t>(bytes) % page_size();  // offset in the first page
  ::madvise(const_cast<std::byte*>(bytes - before), size + before, MADV_DONTNEED);
}

}  // namespace tern::platform
