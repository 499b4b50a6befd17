#include "runtime/weight_cache/room.h"

#include <algorithm>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "platform/error.h"
#include "runtime/weight_cache/file_names.h"

namespace tern {
namespace {

/// A writer locks its file just after creation. Older files without a lock have no writer.
constexpr std::time_t kTimeToLock = 60;
/// Used on file systems without locks.
constexpr std::time_t kTimeToWrite = 3600;

using File = UserFolder::File;

bool has_writer(const platform::Folder& folder, const File& file) {
  if (file.age <= kTimeToLock) return true;
  const platform::File opened = folder.open_file(file.name, platform::Access::write);
  if (!opened.is_open()) return !platform::is_missing(platform::last_error());
  const platform::Lock lock = opened.lock();
  return lock == platform::Lock::busy || (lock == platform::Lock::unsupported && file.age <= kTimeToWrite);
}

struct Contents {
  std::vector<File> packed;  ///< may be deleted
  std::uint64_t bytes = 0;   ///< total size of all files
};

Contents contents_of(const UserFolder& folder) {
  Contents contents;
  for (File& file : folder.files([](const std::string& name) { return kind_of(name) != CacheFileKind::unrelated; })) {
    const bool is_packed = kind_of(file.name) == CacheFileKind::packed;
    if (!is_packed && !has_writer(folder.folder(), file)) {
      folder.folder().remove(file.name);
      continue;
    }
    contents.bytes += file.size;
    if (is_packed) contents.packed.push_back(std::move(file));
  }
  return contents;
}

}  // namespace

bool make_room(const CacheFolder& folder, std::uint64_t bytes) {
  if (!folder.usable()) return false;
  Contents contents = contents_of(folder);
  const std::uint64_t limit = std::min(folder.limit(), (folder.folder().free_bytes() + contents.bytes) / 2);
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
  for (std::size_t i = 0; i < count; ++i) folder.folder().remove(contents.packed[i].name);
  return true;
}

}  // namespace tern
