// Files named only once complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "user_files/file_descriptor.h"

namespace tern {

/// A file without its final name, deleted unless renamed. Created exclusively by this process: never a link or pipe.
class PendingFile {
 public:
  /// Creates the file in the open folder `folder` under temporary_name(suffix). Not open after a failure, or if this
  /// process may not write files of `bytes` bytes.
  PendingFile(int folder, std::string_view suffix, std::uint64_t bytes, unsigned mode = 0600);
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  bool is_open() const { return file_.is_open(); }
  const std::string& name() const { return name_; }
  int descriptor() const { return file_.number(); }
  bool write(std::span<const std::byte> bytes);
  /// Renames the file to `name`, replacing any existing file.
  bool rename(const std::string& name);
  /// Returns the open descriptor; ownership passes to the caller.
  int release() { return file_.release(); }

 private:
  int folder_;
  std::string name_;
  FileDescriptor file_;
  std::size_t size_ = 0;
  bool is_unnamed_;  ///< true while the file has its temporary name
};

/// Unique at each call, across all processes: 16 digits and the suffix.
std::string temporary_name(std::string_view suffix);
/// True for a name of `digits` hexadecimal digits and the suffix.
bool is_numbered(std::string_view name, std::size_t digits, std::string_view suffix);
/// Formats `high` and `low` as 32 digits, and appends the suffix.
std::string numbered_name(std::uint64_t high, std::uint64_t low, std::string_view suffix);

}  // namespace tern
