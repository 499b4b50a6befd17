// A file mapped read-only.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace tern::pt2 {

/// Owns the mapping of a regular file. An empty file maps to no bytes.
class MappedFile {
 public:
  /// Throws Error: io.
  static std::unique_ptr<const MappedFile> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile(const std::byte* data, std::size_t size) : data_(data), size_(size) {}
  const std::byte* data_;
  std::size_t size_;
};

}  // namespace tern::pt2
