// Folders of trusted files, writable only by the process's user: caches.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "platform/folder.h"

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
  /// The checked folder, independent of later changes of its path. Check opened files by FileInfo::is_own_file().
  const platform::Folder& folder() const { return folder_; }

  /// Lists the user's files with names accepted by `is_wanted`.
  std::vector<File> files(bool (*is_wanted)(const std::string& name)) const;

 protected:
  std::string path_, problem_;

 private:
  platform::Folder folder_;
};

/// tern/NAME in the user's folder for caches (platform/environment.h); empty without such a folder.
std::string default_cache_path(const std::string& name);

}  // namespace tern
