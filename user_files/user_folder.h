// Folders of files that a process trusts, because only its user can have written them: caches.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "user_files/descriptor.h"

namespace tern {

/// A folder that only this process's user can write to. Immutable; any number of threads and processes may use it.
class UserFolder {
 public:
  struct File {
    std::string name;
    std::uint64_t size = 0;
    std::time_t age = 0;  ///< seconds since its last use
  };

  /// Makes the folder, and those around it, where they do not exist. Never throws: without a safe folder, usable() is
  /// false. An empty path is no folder.
  explicit UserFolder(std::string path);

  bool usable() const { return folder_.is_open(); }
  /// The reason why the folder is not used; empty if it is.
  const std::string& problem() const { return problem_; }
  const std::string& path() const { return path_; }
  /// The folder that was checked, whatever its path leads to by now: for openat() and the like.
  int descriptor() const { return folder_.number(); }

  /// Opens a file to read it, and neither follows a link nor waits for a pipe. Check what is opened by is_own_file().
  Descriptor open(const std::string& name) const;
  /// The files of the user whose names `is_wanted`.
  std::vector<File> files(bool (*is_wanted)(const std::string& name)) const;
  void remove(const std::string& name) const;

 protected:
  std::string path_, problem_;

 private:
  Descriptor folder_{-1};
};

/// True for a regular file that nobody but this process's user can have written.
bool is_own_file(const struct stat& info);

/// The value of an environment variable, empty where it is not set. A program with rights that its caller lacks
/// (set-user-ID) does not listen to its caller's variables.
std::string user_variable(const char* name);

/// tern/NAME in $XDG_CACHE_HOME or in ~/.cache; empty if there is no such folder that belongs to this process's user.
std::string default_cache_path(const std::string& name);

}  // namespace tern
