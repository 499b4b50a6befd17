// The folder of a run's checkpoints: it outlives a loss of power, and belongs to one process at a time.
#pragma once

#include <string>

namespace tern::train {

/// Makes the folder and those above it, on the disk as far as the file system can. Nothing where it exists. Throws
/// Error (io), which names the folder and the system's reason.
void make_durable_folder(const std::string& folder);

/// Keeps other processes that do the same from a folder until it is destroyed, or the process dies. File systems that
/// have no locks keep nobody.
class HeldFolder {
 public:
  /// Makes the folder if there is none; the destructor removes it then, if nothing is in it. Throws Error (io) where
  /// another process holds it, and, where it is `needed`, if it cannot be made or written to.
  HeldFolder(std::string folder, bool needed);
  ~HeldFolder();
  HeldFolder(const HeldFolder&) = delete;
  HeldFolder& operator=(const HeldFolder&) = delete;

 private:
  void hold();

  std::string folder_;
  bool made_ = false;
  int fd_ = -1;
};

}  // namespace tern::train
