// The folder of a run's checkpoints: survives power failures, and belongs to a single process at a time.
#pragma once

#include <string>

#include "platform/folder.h"

namespace tern::train {

/// Creates the folder and its parents, on the disk as far as the file system allows. No effect if the folder exists.
/// Throws Error (io), naming the folder and the system's reason.
void make_durable_folder(const std::string& folder);

/// Locks a folder against other processes until destruction, or the end of the process. No effect on file systems
/// without locks.
class HeldFolder {
 public:
  /// Creates the folder if missing; the destructor then removes the folder if empty. Throws Error (io) if another
  /// process holds the lock, and, if `needed`, for a folder impossible to create or write.
  HeldFolder(const std::string& path, bool needed);
  ~HeldFolder();
  HeldFolder(const HeldFolder&) = delete;
  HeldFolder& operator=(const HeldFolder&) = delete;

 private:
  platform::Folder folder_;
  bool is_created_ = false;
};

}  // namespace tern::train
