#include "user_files/user_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace tern {
namespace {

/// Creates the folder and its missing parents.
void make_folders(const std::string& path) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
    ::mkdir(path.substr(0, end).c_str(), 0700);
  }
  ::mkdir(path.c_str(), 0700);
}

bool others_can_write(const struct stat& info) {
  return (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

/// Empty if only this process's user can change the folder's contents.
std::string problem_of(const struct stat& info) {
  if (info.st_uid != ::geteuid()) return "it belongs to user " + std::to_string(info.st_uid);
  if (others_can_write(info)) return "others than its owner can write to it";
  return {};
}

/// Times in the future come from a clock set back. They count as equally far in the past; otherwise such files would
/// stay forever.
std::time_t age_of(const struct stat& info) {
  return std::abs(std::time(nullptr) - info.st_mtim.tv_sec);
}

}  // namespace

UserFolder::UserFolder(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  // open() would follow a link with a trailing slash.
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  make_folders(path_);
  FileDescriptor folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!folder.is_open() || ::fstat(folder.number(), &info) != 0) {
    problem_ = "cannot open " + path_ + ": " + std::strerror(errno);
  } else if (const std::string problem = problem_of(info); !problem.empty()) {
    problem_ = "cannot use " + path_ + ": " + problem;
  } else {
    folder_ = std::move(folder);
  }
}

FileDescriptor UserFolder::open(const std::string& name) const {
  return FileDescriptor(::openat(descriptor(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
}

std::vector<UserFolder::File> UserFolder::files(bool (*is_wanted)(const std::string& name)) const {
  std::vector<File> files;
  // Opens a separate description: the listing position belongs to the description.
  const int fd = ::openat(descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return files;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(fd), &::closedir);
  if (listing == nullptr) {
    ::close(fd);
    return files;
  }
  while (const dirent* entry = ::readdir(listing.get())) {  // NOLINT(concurrency-mt-unsafe): the listing is our own
    struct stat info {};
    if (!is_wanted(entry->d_name) || ::fstatat(descriptor(), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (is_own_file(info)) files.push_back({entry->d_name, static_cast<std::uint64_t>(info.st_size), age_of(info)});
  }
  return files;
}

void UserFolder::remove(const std::string& name) const {
  ::unlinkat(descriptor(), name.c_str(), 0);
}

bool is_own_file(const struct stat& info) {
  return S_ISREG(info.st_mode) && info.st_uid == ::geteuid() && !others_can_write(info);
}

std::string user_variable(const char* name) {
  const char* value = ::secure_getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string default_cache_path(const std::string& name) {
  // The XDG specification ignores relative paths in these variables.
  if (const std::string cache = user_variable("XDG_CACHE_HOME"); cache.starts_with('/')) return cache + "/tern/" + name;
  const std::string home = user_variable("HOME");
  struct stat info {};
  // Commands run as root with a user's HOME (sudo) must not create root's folders there.
  if (!home.starts_with('/') || ::stat(home.c_str(), &info) != 0 || info.st_uid != ::geteuid()) return {};
  return home + "/.cache/tern/" + name;
}

}  // namespace tern
