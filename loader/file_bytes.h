// The bytes of a file: mapped, read into memory, or the caller's own.
#pragma once

#include <tern/tern.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace tern {

/// Immutable; may be used by many threads. A mapping shows changes that others make to the file, and touching pages
/// that a truncation took away ends the process (SIGBUS): use Access::read for files that may change while in use.
class FileBytes {
 public:
  /// Only regular files. Throws Error (io).
  static std::shared_ptr<const FileBytes> open(const std::string& path, Access access);
  static std::shared_ptr<const FileBytes> borrow(std::span<const std::byte> bytes);
  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// The pages that lie in this part may go; they come back from the file when touched. Nothing for bytes in memory.
  void release(std::span<const std::byte> part) const;

 private:
  enum class Owner { none, mapping, memory };
  FileBytes(const std::byte* data, std::size_t size, Owner owner) : data_(data), size_(size), owner_(owner) {}
  const std::byte* data_;
  std::size_t size_;
  Owner owner_;
};

}  // namespace tern
