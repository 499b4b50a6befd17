// Memory from the system in pages, and mapped files.
#pragma once

#include <cstddef>

#include "platform/file.h"

namespace tern::platform {

/// Smallest unit of the system's memory, in bytes.
std::size_t page_size();

/// `reserved` fails if the system could not back all pages; `on_demand` may fail later, on the first use of a page.
enum class Backing { reserved, on_demand };

/// Zeroed memory, page-aligned. Pages take memory once touched. Null without memory. Windows always reserves.
std::byte* allocate_pages(std::size_t size, Backing backing = Backing::reserved);
void free_pages(std::byte* pages, std::size_t size);
/// Returns the memory of whole pages from allocate_pages() to the system; their bytes become zero.
void clear_pages(std::byte* pages, std::size_t size);

/// Like std::aligned_alloc. Null without memory.
void* allocate_aligned(std::size_t alignment, std::size_t size);
void free_aligned(void* memory);
/// The same, for std::free(). Windows ignores the alignment.
void* allocate_buffer(std::size_t alignment, std::size_t size);
/// Returns the memory of whole pages inside a block of allocate_aligned() to the system; their bytes become zero.
/// Returns false, and changes nothing, if the system refuses: for example locked memory, or any on Windows and macOS.
bool clear_aligned(std::byte* pages, std::size_t size);

/// Asks for large pages, if the system has them.
void prefer_large_pages(const void* pages, std::size_t size);

/// Bytes of the opened file, read-only. The file may be closed, renamed or deleted afterwards. `load`: reads all pages
/// into memory now. Null after a failure.
const std::byte* map_file(const File& file, std::size_t size, bool load = false);
void unmap_file(const std::byte* bytes, std::size_t size);
/// Releases the pages of this part of a mapped file; the next access reads them from the file again.
void release_mapped(const std::byte* bytes, std::size_t size);

}  // namespace tern::platform
