// Files named only once complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "platform/folder.h"

namespace tern {

/// A file without its final name, deleted unless renamed. Created exclusively by this process: never a link or pipe.
class PendingFile {
 public:
  /// Creates the file in the open folder, which outlives this object, under temporary_name(suffix). Not open after a
  /// failure, or if this process may not write files of `bytes` bytes.
  PendingFile(const platform::Folder& folder, std::string_view suffix, std::uint64_t bytes, unsigned mode = 0600);
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  bool is_open() const { return file_.is_open(); }
  const std::string& name() const { return name_; }
  bool write(std::span<const std::byte> bytes);
  /// Waits until the bytes are on disk.
  bool sync() const { return file_.sync(); }
  /// Renames the file to `name`, replacing any existing file.
  bool rename(const std::string& name);
  /// Returns the open file; ownership passes to the caller.
  platform::File release() { return std::move(file_); }

 private:
  const platform::Folder& folder_;
  std::string name_;
  platform::File file_;
  std::size_t size_ = 0;
  bool is_unnamed_ = false;  ///< true while the file has its temporary name
};

/// Unique at each call, across all processes: 16 digits and the suffix.
std::string temporary_name(std::string_view suffix);
/// True for a name of `digits` hexadecimal digits and the suffix.
bool is_numbered(std::string_view name, std::size_t digits, std::string_view suffix);
/// Formats `high` and `low` as 32 digits, and appends the suffix.
std::string numbered_name(std::uint64_t high, std::uint64_t low, std::string_view suffix);

}  // namespace tern
