// The bytes of a file: mapped, read into memory, or the caller's own.
#pragma once

#include <tern/tern.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace tern {

/// Immutable and thread-safe. A mapping shows later changes of the file, and access to truncated pages ends the process
/// (SIGBUS): use Access::read for files that may change during use.
class FileBytes {
 public:
  /// Only regular files. Throws Error (io).
  static std::shared_ptr<const FileBytes> open(const std::string& path, Access access);
  static std::shared_ptr<const FileBytes> borrow(std::span<const std::byte> bytes);
  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Releases the pages inside this part; the next access reads them from the file again. Does nothing for bytes in
  /// memory.
  void release(std::span<const std::byte> part) const;
  /// Device, inode, size and times of the opened file. A later change of the file yields another identity. Empty for
  /// borrowed bytes, and whenever a later change could leave the times equal: the file changed within the last two
  /// seconds (the coarsest time resolution) or during reading.
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
