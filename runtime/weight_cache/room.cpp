#include "runtime/weight_cache/room.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "runtime/weight_cache/file_names.h"

namespace tern {
namespace {

/// A writer locks its file just after creation. Older files without a lock have no writer.
constexpr std::time_t kTimeToLock = 60;
/// Used on file systems without locks.
constexpr std::time_t kTimeToWrite = 3600;

using File = UserFolder::File;

bool has_writer(int folder, const File& file) {
  if (file.age <= kTimeToLock) return true;
  const int fd = ::openat(folder, file.name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return errno != ENOENT;
  const bool locked = ::flock(fd, LOCK_EX | LOCK_NB) == 0;
  const bool held = !locked && (errno == EWOULDBLOCK || file.age <= kTimeToWrite);
  ::close(fd);
  return held;
}

struct Contents {
  std::vector<File> packed;  ///< may be deleted
  std::uint64_t bytes = 0;   ///< total size of all files
};

Contents contents_of(const UserFolder& folder) {
  Contents contents;
  for (File& file : folder.files([](const std::string& name) { return kind_of(name) != CacheFileKind::other; })) {
    const bool is_packed = kind_of(file.name) == CacheFileKind::packed;
    if (!is_packed && !has_writer(folder.descriptor(), file)) {
      folder.remove(file.name);
      continue;
    }
    contents.bytes += file.size;
    if (is_packed) contents.packed.push_back(std::move(file));
  }
  return contents;
}

std::uint64_t free_bytes(int folder) {
  struct statvfs info {};
  return ::fstatvfs(folder, &info) == 0 ? std::uint64_t{info.f_bavail} * info.f_frsize : 0;
}

}  // namespace

bool make_room(const CacheFolder& folder, std::uint64_t bytes) {
  if (!folder.usable()) return false;
  const int fd = folder.descriptor();
  Contents contents = contents_of(folder);
  const std::uint64_t limit = std::min(folder.limit(), (free_bytes(fd) + contents.bytes) / 2);
  if (bytes > limit) return false;
  std::ranges::sort(contents.packed, std::ranges::greater(), &File::age);
  std::uint64_t kept = contents.bytes;
  std::size_t count = 0;  // number of files to delete
  for (; kept > limit - bytes; ++count) {
    const bool is_recent =
        count < contents.packed.size() && contents.packed[count].age < std::chrono::seconds(kRecent).count();
    if (count == contents.packed.size() || is_recent) return false;
    kept -= contents.packed[count].size;
  }
  for (std::size_t i = 0; i < count; ++i) folder.remove(contents.packed[i].name);
  return true;
}

}  // namespace tern
