// Folders of trusted files, writable only by the process's user: caches.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "user_files/file_descriptor.h"

namespace tern {

/// A folder writable only by this process's user. Immutable; shared by any number of threads and processes.
class UserFolder {
 public:
  struct File {
    std::string name;
    std::uint64_t size = 0;
    std::time_t age = 0;  ///< seconds since last use
  };

  /// Creates the folder and its parents if missing. Never throws: without a safe folder, usable() is false. An empty
  /// path is no folder.
  explicit UserFolder(std::string path);

  bool usable() const { return folder_.is_open(); }
  /// Reason for not using the folder; empty if in use.
  const std::string& problem() const { return problem_; }
  const std::string& path() const { return path_; }
  /// Descriptor of the checked folder, independent of later changes of its path: for openat() and similar functions.
  int descriptor() const { return folder_.number(); }

  /// Opens a file for reading; neither follows links nor waits for pipes. Check the result by is_own_file().
  FileDescriptor open(const std::string& name) const;
  /// Lists the user's files with names accepted by `is_wanted`.
  std::vector<File> files(bool (*is_wanted)(const std::string& name)) const;
  void remove(const std::string& name) const;

 protected:
  std::string path_, problem_;

 private:
  FileDescriptor folder_{-1};
};

/// True for a regular file writable only by this process's user.
bool is_own_file(const struct stat& info);

/// Value of an environment variable; empty if unset. Set-user-ID programs ignore their caller's variables.
std::string user_variable(const char* name);

/// tern/NAME in $XDG_CACHE_HOME or in ~/.cache; empty if no such folder belongs to this process's user.
std::string default_cache_path(const std::string& name);

}  // namespace tern
