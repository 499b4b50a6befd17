#include "tools/train/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <tern/error.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "tools/text.h"

namespace tern::train {
namespace {

namespace fs = std::filesystem;

}  // namespace

/// A new folder survives a power failure only after its parent folders are on the disk. Some file systems cannot sync
/// folders: the folder is then as safe as the file system allows.
void make_durable_folder(const std::string& folder) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return;
  const fs::path above = fs::absolute(folder).lexically_normal().parent_path();
  if (above != above.root_path() && !above.empty()) make_durable_folder(above.string());
  fs::create_directory(folder, error);
  if (error) fail(ErrorCode::io, fmt::format("cannot make the folder {}: {}", escape_name(folder), error.message()));
  const int fd = ::open(above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

HeldFolder::HeldFolder(std::string folder, bool needed) : folder_(std::move(folder)) {
  std::error_code error;
  const bool was_there = fs::exists(folder_, error);
  try {
    make_durable_folder(folder_);
    if (needed && ::access(folder_.c_str(), R_OK | W_OK | X_OK) != 0)
      fail(ErrorCode::io, fmt::format("cannot write to the folder {}: {}", escape_name(folder_), std::strerror(errno)));
  } catch (const Error&) {
    if (needed) throw;
    return;
  }
  made_ = !was_there;
  hold();
}

void HeldFolder::hold() {
  fd_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd_ < 0 || ::flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(fd_);
  fail(ErrorCode::io, fmt::format("the folder {} is in use: another process trains with its checkpoints there; wait "
                                  "until it ends, or give another folder with --checkpoint",
                                  escape_name(folder_)));
}

HeldFolder::~HeldFolder() {
  if (made_) ::rmdir(folder_.c_str());  // fails for a non-empty folder
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace tern::train
