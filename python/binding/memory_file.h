// Archives given as bytes: files without a name, in memory.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <span>
#include <string>

namespace tern::python {

/// Holds a copy of bytes as a file, removed with the last reference.
class MemoryFile {
 public:
  /// Throws Error (io, out_of_memory).
  explicit MemoryFile(std::span<const std::byte> bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  /// Path for opening the file in this process.
  const std::string& path() const { return path_; }

 private:
  int file_;
  std::string path_;
};

/// Copies bytes, a bytearray, a memoryview, any contiguous buffer, or the remaining content of a binary file. Throws
/// nb::type_error for other objects.
std::shared_ptr<const MemoryFile> memory_file_of(nanobind::handle object);

}  // namespace tern::python
