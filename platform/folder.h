// Folders opened once: later changes of their paths have no effect.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "platform/file.h"

namespace tern::platform {

enum class Access { read, write };  ///< `write` includes reading

/// An open folder. Names are those of entries, without separators. Failures set last_error(). Immutable; shared by any
/// number of threads.
class Folder {
 public:
  Folder() = default;
  /// Not open after a failure. `follow_link`: the path itself may be a link.
  explicit Folder(const std::string& path, bool follow_link = true);

  bool is_open() const { return folder_.is_open(); }
  std::optional<FileInfo> info() const { return folder_.info(); }
  /// Facts about an entry; does not follow links.
  std::optional<FileInfo> info_of(const std::string& name) const;
  /// Opens an existing file; neither follows links (is_symbolic_link()) nor waits for pipes.
  File open_file(const std::string& name, Access access = Access::read) const;
  /// Creates a file for writing; fails if the name exists.
  File create_file(const std::string& name, unsigned permissions) const;
  bool rename(const std::string& from, const std::string& to) const;
  /// Gives a file a second name; fails if the name exists.
  bool link(const std::string& from, const std::string& to) const;
  bool remove(const std::string& name) const;
  /// Names of all entries.
  std::vector<std::string> names() const;
  /// Free bytes of the file system for this user; 0 if unknown.
  std::uint64_t free_bytes() const;
  /// Takes the exclusive lock of the folder if it is free. Other processes may use a locked folder.
  Lock lock();
  /// Waits until the names in the folder are on disk, as far as the file system allows.
  void sync() const;
  /// Deletes the folder if it is empty, and closes it.
  void remove_if_empty();

 private:
  File folder_;
  std::string path_;
  File lock_;  ///< Windows: a file in the folder, deleted when closed
};

/// True if this process may list the folder and create files in it.
bool can_write_folder(const std::string& path);
/// Creates a folder for all users; does nothing if it exists.
void make_folder(const std::string& path);
/// Creates a folder and its missing parents for this process's user alone.
void make_private_folders(const std::string& path);
/// Creates a new folder for this process's user alone in the system's folder of temporary files. Its name begins with
/// `prefix`. Empty after a failure.
std::string make_temporary_folder(const std::string& prefix);

}  // namespace tern::platform
