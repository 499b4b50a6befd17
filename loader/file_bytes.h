// The bytes of a file: mapped, read into memory, or the caller's own.
#pragma once

#include <tern/tern.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

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
  /// Device, inode, size and times of the file that was opened. A later change of the file has another identity. Empty
  /// for borrowed bytes, and where a later change could leave the times as they were: the file changed within the last
  /// two seconds, which is how coarse times can be, or while it was read.
  const std::string& identity() const { return identity_; }

 private:
  enum class Owner { none, mapping, memory };
  FileBytes(const std::byte* data, std::size_t size, Owner owner, std::string identity = {})
      : data_(data), size_(size), owner_(owner), identity_(std::move(identity)) {}
  const std::byte* data_;
  std::size_t size_;
  Owner owner_;
  std::string identity_;
};

}  // namespace tern
