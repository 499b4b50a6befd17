// Reads files of packed weights, shared by all processes of a user: one file per key.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "runtime/weight_cache/folder.h"

namespace tern {

/// Payload of a key's file. Immutable, and mapped during the object's life even after the file's deletion.
class PackedFile {
 public:
  /// Returns null if no file exists. Deletes files not exactly as written by write_packed() (write_packed.h): a system
  /// crash can leave broken files, because writers do not wait for the disk. The first open of a file in this process
  /// checks its hash.
  static std::shared_ptr<const PackedFile> open(const CacheFolder& folder, const std::string& key);
  ~PackedFile();
  PackedFile(const PackedFile&) = delete;
  PackedFile& operator=(const PackedFile&) = delete;

  /// Aligned to a page.
  std::span<const std::byte> bytes() const { return payload_; }

 private:
  explicit PackedFile(std::span<const std::byte> file) : file_(file) {}
  static std::shared_ptr<PackedFile> map(const platform::File& file, std::size_t size);

  std::span<const std::byte> file_, payload_;
  std::string key_;
};

/// True if the folder has a file for the key. The hash is not checked.
bool has_packed(const CacheFolder& folder, const std::string& key);

}  // namespace tern
