#include "runtime/weight_cache/write_packed.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "loader/format.h"
#include "runtime/weight_cache/descriptor.h"
#include "runtime/weight_cache/file_names.h"
#include "runtime/weight_cache/packed_format.h"
#include "runtime/weight_cache/room.h"

namespace tern {
namespace {

/// Of a large page: Linux keeps what is written so in large pages, and a reader that maps the file has fewer faults.
constexpr std::size_t kPiece = std::size_t{2} << 20;

/// By this thread: the run that goes on meanwhile needs the others.
Hash128 hash_alone(std::span<const std::byte> bytes) {
  SegmentHasher hasher;
  for (std::size_t at = 0; at < bytes.size(); at += kHashPiece) {
    hasher.add(bytes.subspan(at, std::min<std::size_t>(kHashPiece, bytes.size() - at)));
  }
  return hasher.finish();
}

/// A file without its final name, which goes away unless it gets it.
class TemporaryFile {
 public:
  explicit TemporaryFile(int folder)
      : folder_(folder),
        name_(temporary_name()),
        file_(::openat(folder, name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) {
    // Tells those who make room that it has a writer; without locks its age does.
    if (file_.is_open()) ::flock(file_.number(), LOCK_EX | LOCK_NB);
  }
  ~TemporaryFile() {
    if (file_.is_open() && !renamed_) ::unlinkat(folder_, name_.c_str(), 0);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  bool write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const std::size_t now = std::min(bytes.size(), kPiece - size_ % kPiece);
      const ssize_t n = ::write(file_.number(), bytes.data(), now);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      size_ += static_cast<std::size_t>(n);
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return true;
  }
  bool rename(const std::string& name) {
    renamed_ = ::renameat(folder_, name_.c_str(), folder_, name.c_str()) == 0;
    return renamed_;
  }

 private:
  int folder_;
  std::string name_;
  Descriptor file_;
  std::size_t size_ = 0;
  bool renamed_ = false;
};

/// Beyond this size a write would end the process (SIGXFSZ).
bool is_too_large(std::uint64_t size) {
  struct rlimit limit {};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && size > limit.rlim_cur;
}

}  // namespace

bool write_packed(const CacheFolder& folder, const std::string& key, std::span<const std::byte> bytes) {
  const std::uint64_t size = head_size(key) + bytes.size();
  if (!folder.usable() || bytes.empty() || is_too_large(size) || !make_room(folder, size)) return false;
  const auto head = packed_head(key, bytes.size(), hash_alone(bytes));
  TemporaryFile file(folder.descriptor());
  return file.write(head) && file.write(bytes) && file.rename(packed_name(key));
}

}  // namespace tern
