#include "runtime/weight_cache/room.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "runtime/weight_cache/file_names.h"

namespace tern {
namespace {

/// A writer locks its file just after it has made it. Older files without a lock have no writer.
constexpr std::time_t kTimeToLock = 60;
/// Where the file system has no locks.
constexpr std::time_t kTimeToWrite = 3600;

struct File {
  std::string name;
  std::uint64_t size = 0;
  std::time_t age = 0;  ///< seconds
};

/// A clock that was set back leaves times in the future. They count as times as long ago, or such files would stay.
std::time_t age_of(const struct stat& info) {
  return std::abs(std::time(nullptr) - info.st_mtim.tv_sec);
}

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
  std::uint64_t bytes = 0;   ///< of all files
};

Contents contents_of(int folder) {
  Contents contents;
  // An own description: the position of a listing belongs to it.
  const int fd = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return contents;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(fd), &::closedir);
  if (listing == nullptr) {
    ::close(fd);
    return contents;
  }
  while (const dirent* entry = ::readdir(listing.get())) {  // NOLINT(concurrency-mt-unsafe): the listing is our own
    const CacheFileKind kind = kind_of(entry->d_name);
    struct stat info {};
    if (kind == CacheFileKind::other || ::fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(info.st_mode)) continue;
    File file{entry->d_name, static_cast<std::uint64_t>(info.st_size), age_of(info)};
    if (kind == CacheFileKind::temporary && !has_writer(folder, file)) {
      ::unlinkat(folder, file.name.c_str(), 0);
      continue;
    }
    contents.bytes += file.size;
    if (kind == CacheFileKind::packed) contents.packed.push_back(std::move(file));
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
  Contents contents = contents_of(fd);
  const std::uint64_t limit = std::min(folder.limit(), (free_bytes(fd) + contents.bytes) / 2);
  if (bytes > limit) return false;
  std::ranges::sort(contents.packed, std::ranges::greater(), &File::age);
  std::uint64_t kept = contents.bytes;
  std::size_t count = 0;  // of files to delete
  for (; kept > limit - bytes; ++count) {
    const bool is_recent =
        count < contents.packed.size() && contents.packed[count].age < std::chrono::seconds(kRecent).count();
    if (count == contents.packed.size() || is_recent) return false;
    kept -= contents.packed[count].size;
  }
  for (std::size_t i = 0; i < count; ++i) ::unlinkat(fd, contents.packed[i].name.c_str(), 0);
  return true;
}

}  // namespace tern
