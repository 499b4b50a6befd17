#include "tools/train/folder.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <filesystem>
#include <system_error>

#include "platform/error.h"
#include "platform/path.h"
#include "tools/text.h"

namespace tern::train {
namespace {

namespace fs = std::filesystem;

}  // namespace

/// A new folder survives a power failure only after its parent folders are on the disk. Some file systems cannot sync
/// folders: the folder is then as safe as the file system allows.
void make_durable_folder(const std::string& folder) {
  const fs::path path = platform::path_of(folder);
  std::error_code error;
  if (fs::is_directory(path, error)) return;
  const fs::path above = fs::absolute(path).lexically_normal().parent_path();
  if (above != above.root_path() && !above.empty()) make_durable_folder(platform::text_of(above));
  fs::create_directory(path, error);
  if (error) fail(ErrorCode::io, fmt::format("cannot make the folder {}: {}", escape_name(folder), error.message()));
  platform::Folder(platform::text_of(above)).sync();
}

HeldFolder::HeldFolder(const std::string& path, bool needed) {
  std::error_code error;
  const bool was_there = fs::exists(platform::path_of(path), error);
  try {
    make_durable_folder(path);
    if (needed && !platform::can_write_folder(path))
      fail(ErrorCode::io, fmt::format("cannot write to the folder {}: {}", escape_name(path),
                                      platform::error_text(platform::last_error())));
  } catch (const Error&) {
    if (needed) throw;
    return;
  }
  is_created_ = !was_there;
  folder_ = platform::Folder(path);
  if (!folder_.is_open() || folder_.lock() != platform::Lock::busy) return;
  fail(ErrorCode::io, fmt::format("the folder {} is in use: another process trains with its checkpoints there; wait "
                                  "until it ends, or give another folder with --checkpoint",
                                  escape_name(path)));
}

HeldFolder::~HeldFolder() {
  if (is_created_) folder_.remove_if_empty();
}

}  // namespace tern::train
