#include "platform/posix/info.h"

namespace tern::platform {

FileTime modified_time(const struct stat& info) {
  return {info.st_mtimespec.tv_sec, info.st_mtimespec.tv_nsec};
}

FileTime changed_time(const struct stat& info) {
  return {info.st_ctimespec.tv_sec, info.st_ctimespec.tv_nsec};
}

}  // namespace tern::platform
