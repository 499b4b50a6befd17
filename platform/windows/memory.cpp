#include "platform/memory.h"

#include <malloc.h>

#include <cstdint>
#include <cstdlib>

#include "platform/windows/system.h"

namespace tern::platform {

std::size_t page_size() {
  static const std::size_t size = [] {
    SYSTEM_INFO info{};
    ::GetSystemInfo(&info);
    return static_cast<std::size_t>(info.dwPageSize);
  }();
  return size;
}

std::byte* allocate_pages(std::size_t size, Backing /*backing*/) {
  return static_cast<std::byte*>(::VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
}

void free_pages(std::byte* pages, std::size_t /*size*/) {
  ::VirtualFree(pages, 0, MEM_RELEASE);
}

void clear_pages(std::byte* pages, std::size_t size) {
  ::VirtualFree(pages, size, MEM_DECOMMIT);
  ::VirtualAlloc(pages, size, MEM_COMMIT, PAGE_READWRITE);
}

void* allocate_aligned(std::size_t alignment, std::size_t size) {
  return ::_aligned_malloc(size, alignment);
}

void* allocate_buffer(std::size_t /*alignment*/, std::size_t size) {
  return std::malloc(size);
}

void free_aligned(void* memory) {
  ::_aligned_free(memory);
}

bool clear_aligned(std::byte* /*pages*/, std::size_t /*size*/) {
  return false;  // the heap owns the pages
}

void prefer_large_pages(const void* /*pages*/, std::size_t /*size*/) {}  // needs a privilege

const std::byte* map_file(const File& file, std::size_t size, bool load) {
  HANDLE section = ::CreateFileMappingW(handle_of(file), nullptr, PAGE_READONLY, 0, 0, nullptr);
  if (section == nullptr) return nullptr;
  const auto* bytes = static_cast<const std::byte*>(::MapViewOfFile(section, FILE_MAP_READ, 0, 0, size));
  const DWORD error = ::GetLastError();
  ::CloseHandle(section);  // the view keeps the section
  ::SetLastError(error);
  if (bytes != nullptr && load) {
    WIN32_MEMORY_RANGE_ENTRY range{const_cast<std::byte*>(bytes), size};
    ::PrefetchVirtualMemory(::GetCurrentProcess(), 1, &range, 0);
  }
  return bytes;
}

void unmap_file(const std::byte* bytes, std::size_t /*size*/) {
  ::UnmapViewOfFile(bytes);
}

void release_mapped(const std::byte* bytes, std::size_t size) {
  // Unlocking pages that are not locked removes them from the working set; the return value says "not locked".
  ::VirtualUnlock(const_cast<std::byte*>(bytes), size);
}

}  // namespace tern::platform
