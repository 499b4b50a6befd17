// Reads files of packed weights, which all processes of a user share: one file for each key.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "runtime/weight_cache/folder.h"

namespace tern {

/// The bytes that were written under a key. Immutable, mapped as long as it lives, even if the file is deleted
/// meanwhile.
class PackedFile {
 public:
  /// Null if there is none. A file that is not exactly as write_packed() (write_packed.h) makes it is deleted: a crash
  /// of the system can leave such files, as nothing waits for the disk. The first to open a file in this process checks
  /// its hash.
  static std::shared_ptr<const PackedFile> open(const CacheFolder& folder, const std::string& key);
  ~PackedFile();
  PackedFile(const PackedFile&) = delete;
  PackedFile& operator=(const PackedFile&) = delete;

  /// Aligned to a page.
  std::span<const std::byte> bytes() const { return payload_; }

 private:
  explicit PackedFile(std::span<const std::byte> file) : file_(file) {}
  static std::shared_ptr<PackedFile> map(int fd, std::size_t size);

  std::span<const std::byte> file_, payload_;
  std::string key_;
};

/// Whether the folder has a file of that key. Its hash is not checked.
bool has_packed(const CacheFolder& folder, const std::string& key);

}  // namespace tern
