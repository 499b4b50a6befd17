#include "user_files/user_folder.h"

#include <cstdlib>
#include <ctime>
#include <utility>

#include "platform/environment.h"
#include "platform/error.h"

namespace tern {
namespace {

/// Times in the future come from a clock set back. They count as equally far in the past; otherwise such files would
/// stay forever.
std::time_t age_of(const platform::FileInfo& info) {
  return std::abs(std::time(nullptr) - static_cast<std::time_t>(info.modified.seconds));
}

}  // namespace

UserFolder::UserFolder(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  // open() would follow a link with a trailing slash.
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  platform::make_private_folders(path_);
  platform::Folder folder(path_, false);
  const auto info = folder.is_open() ? folder.info() : std::nullopt;
  if (!info) {
    problem_ = "cannot open " + path_ + ": " + platform::error_text(platform::last_error());
  } else if (!info->sharing.empty()) {
    problem_ = "cannot use " + path_ + ": " + info->sharing;
  } else {
    folder_ = std::move(folder);
  }
}

std::vector<UserFolder::File> UserFolder::files(bool (*is_wanted)(const std::string& name)) const {
  std::vector<File> files;
  for (std::string& name : folder_.names()) {
    const auto info = is_wanted(name) ? folder_.info_of(name) : std::nullopt;
    if (info && info->is_own_file()) files.push_back({std::move(name), info->size, age_of(*info)});
  }
  return files;
}

std::string default_cache_path(const std::string& name) {
  const std::string cache = platform::user_cache_folder();
  return cache.empty() ? cache : cache + "/tern/" + name;
}

}  // namespace tern
