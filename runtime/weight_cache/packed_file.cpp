#include "runtime/weight_cache/packed_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/weight_cache/file_names.h"
#include "runtime/weight_cache/packed_format.h"
#include "user_files/file_descriptor.h"

namespace tern {
namespace {

/// Shorter than the period of recent use (room.h): each run of a program protects its files from deletion.
constexpr std::time_t kTimeOfUse = 15 * 60;

/// Files mapped by this process. A mapping keeps its inode number from reuse by another file.
struct Mapped {
  std::mutex mutex;
  std::map<std::pair<dev_t, ino_t>, std::weak_ptr<const PackedFile>> files;

  static Mapped& shared() {
    static Mapped mapped;
    return mapped;
  }
};

void note_use(int fd, const struct stat& info) {
  if (std::abs(std::time(nullptr) - info.st_mtim.tv_sec) < kTimeOfUse) return;
  const struct timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
  ::futimens(fd, times);
}

}  // namespace

std::shared_ptr<PackedFile> PackedFile::map(int fd, std::size_t size) {
  void* p = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) return nullptr;
#ifdef MADV_HUGEPAGE
  ::madvise(p, size, MADV_HUGEPAGE);
#endif
  return std::shared_ptr<PackedFile>(new PackedFile({static_cast<const std::byte*>(p), size}));
}

PackedFile::~PackedFile() {
  ::munmap(const_cast<std::byte*>(file_.data()), file_.size());
}

std::shared_ptr<const PackedFile> PackedFile::open(const CacheFolder& folder, const std::string& key) {
  if (!folder.usable()) return nullptr;
  const std::string name = packed_name(key);
  const FileDescriptor file = folder.open(name);
  struct stat info {};
  if (!file.is_open() || ::fstat(file.number(), &info) != 0) {
    if (errno == ELOOP) folder.remove(name);  // a link
    return nullptr;
  }
  Mapped& mapped = Mapped::shared();
  const std::pair<dev_t, ino_t> number(info.st_dev, info.st_ino);
  {
    const std::lock_guard lock(mapped.mutex);
    const auto found = mapped.files.find(number);
    auto shared = found == mapped.files.end() ? nullptr : found->second.lock();
    if (shared != nullptr && shared->key_ == key) return shared;
  }
  std::shared_ptr<PackedFile> opened;
  if (is_own_file(info) && info.st_size > 0) {
    opened = map(file.number(), static_cast<std::size_t>(info.st_size));
    if (opened == nullptr) return nullptr;  // out of memory: the file may be valid
    opened->payload_ = check_payload(opened->file_, key);
  }
  if (opened == nullptr || opened->payload_.empty()) {
    folder.remove(name);
    return nullptr;
  }
  opened->key_ = key;
  note_use(file.number(), info);
  const std::lock_guard lock(mapped.mutex);
  std::erase_if(mapped.files, [](const auto& entry) { return entry.second.expired(); });
  mapped.files[number] = opened;
  return opened;
}

bool has_packed(const CacheFolder& folder, const std::string& key) {
  if (!folder.usable()) return false;
  const FileDescriptor file = folder.open(packed_name(key));
  struct stat info {};
  if (!file.is_open() || ::fstat(file.number(), &info) != 0 || !is_own_file(info)) return false;
  std::vector<std::byte> head(head_size(key));
  if (info.st_size <= static_cast<off_t>(head.size())) return false;
  if (::pread(file.number(), head.data(), head.size(), 0) != static_cast<ssize_t>(head.size())) return false;
  return is_packed_head(head, key, static_cast<std::uint64_t>(info.st_size) - head.size());
}

}  // namespace tern
