#include "runtime/weight_cache/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace tern {
namespace {

constexpr std::uint64_t kDefaultMegabytes = 8192;
constexpr std::string_view kOff = "off";

/// Empty if it is not set. A process with rights that its user lacks (setuid) does not listen to its user's variables.
std::string variable(const char* name) {
  const char* value = ::secure_getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::uint64_t limit_of_environment() {
  const std::string text = variable("TERN_WEIGHT_CACHE_MB");
  std::uint64_t megabytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), megabytes);
  const bool valid = !text.empty() && error == std::errc() && end == text.data() + text.size();
  return (valid ? std::min(megabytes, ~std::uint64_t{0} >> 20) : kDefaultMegabytes) << 20;
}

/// Empty if there is no place for it. Relative paths of these variables are to be ignored, by the XDG specification.
std::string default_path() {
  if (const std::string cache = variable("XDG_CACHE_HOME"); cache.starts_with('/')) return cache + "/tern/weights";
  const std::string home = variable("HOME");
  struct stat info {};
  // A command that runs as root with a user's HOME (sudo) must not leave root's folders there.
  if (!home.starts_with('/') || ::stat(home.c_str(), &info) != 0 || info.st_uid != ::geteuid()) return {};
  return home + "/.cache/tern/weights";
}

std::string path_of(const std::string& choice) {
  std::string path = choice.empty() ? variable("TERN_WEIGHT_CACHE") : choice;
  if (path.empty()) path = default_path();
  // open() would follow a link that ends in a slash.
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

/// The folder and those around it, as far as they do not exist.
void make_folders(const std::string& path) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
    ::mkdir(path.substr(0, end).c_str(), 0700);
  }
  ::mkdir(path.c_str(), 0700);
}

/// Empty if nobody but this process's user can change what is in the folder.
std::string problem_of(const struct stat& info) {
  if (info.st_uid != ::geteuid()) return fmt::format("it belongs to user {}", info.st_uid);
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "others than its owner can write to it";
  return {};
}

}  // namespace

CacheFolder::CacheFolder(const std::string& choice) : path_(path_of(choice)), limit_(limit_of_environment()) {
  if (path_ == kOff || path_.empty()) {
    problem_ = path_.empty() ? "there is no home folder of this user to keep weights in" : "it is off";
    path_.clear();
    return;
  }
  make_folders(path_);
  Descriptor folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!folder.is_open() || ::fstat(folder.number(), &info) != 0) {
    const int error = errno;
    problem_ = fmt::format("cannot open {}: {}", path_, std::strerror(error));
  } else if (const std::string problem = problem_of(info); !problem.empty()) {
    problem_ = fmt::format("cannot use {}: {}", path_, problem);
  } else {
    folder_ = std::move(folder);
  }
}

}  // namespace tern
