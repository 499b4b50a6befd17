#include "platform/posix/info.h"

#include <unistd.h>

namespace tern::platform {
namespace {

FileInfo::Kind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return FileInfo::Kind::regular;
  if (S_ISDIR(mode)) return FileInfo::Kind::folder;
  return S_ISLNK(mode) ? FileInfo::Kind::link : FileInfo::Kind::special;
}

std::string sharing_of(const struct stat& info) {
  if (info.st_uid != ::geteuid()) return "it belongs to user " + std::to_string(info.st_uid);
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "others than its owner can write to it";
  return {};
}

}  // namespace

FileInfo convert_info(const struct stat& info) {
  return {.kind = kind_of(info.st_mode),
          .size = static_cast<std::uint64_t>(info.st_size),
          .volume = static_cast<std::uint64_t>(info.st_dev),
          .number = static_cast<std::uint64_t>(info.st_ino),
          .modified = modified_time(info),
          .changed = changed_time(info),
          .permissions = static_cast<unsigned>(info.st_mode & 0777),
          .sharing = sharing_of(info)};
}

}  // namespace tern::platform
