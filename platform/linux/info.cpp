#include "platform/posix/info.h"

namespace tern::platform {

FileTime modified_time(const struct stat& info) {
  return {info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

FileTime changed_time(const struct stat& info) {
  return {info.st_ctim.tv_sec, info.st_ctim.tv_nsec};
}

}  // namespace tern::platform
