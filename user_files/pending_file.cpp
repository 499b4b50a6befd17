#include "user_files/pending_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace tern {
namespace {

/// Size of a large page: Linux caches files written in such pieces in large pages, and readers mapping the file have
/// fewer page faults.
constexpr std::size_t kPiece = std::size_t{2} << 20;

/// Writing beyond this size would end the process (SIGXFSZ).
bool is_too_large(std::uint64_t size) {
  struct rlimit limit {};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && size > limit.rlim_cur;
}

int create(int folder, const std::string& name, unsigned mode) {
  return ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

std::string digits_of(std::uint64_t number) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(number));
  return digits;
}

}  // namespace

PendingFile::PendingFile(int folder, std::string_view suffix, std::uint64_t bytes, unsigned mode)
    : folder_(folder),
      name_(temporary_name(suffix)),
      file_(folder < 0 || is_too_large(bytes) ? -1 : create(folder, name_, mode)),
      is_unnamed_(file_.is_open()) {
  // Tells other processes that the file has a writer; without locks the file's age does.
  if (file_.is_open()) ::flock(file_.number(), LOCK_EX | LOCK_NB);
}

PendingFile::~PendingFile() {
  if (is_unnamed_) ::unlinkat(folder_, name_.c_str(), 0);
}

bool PendingFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t now = std::min(bytes.size(), kPiece - size_ % kPiece);
    const ssize_t n = ::write(file_.number(), bytes.data(), now);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    size_ += static_cast<std::size_t>(n);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return is_open();
}

bool PendingFile::rename(const std::string& name) {
  if (!is_unnamed_ || ::renameat(folder_, name_.c_str(), folder_, name.c_str()) != 0) return false;
  is_unnamed_ = false;
  return true;
}

std::string temporary_name(std::string_view suffix) {
  // Random instead of the process number: containers sharing the folder count processes separately.
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) < 0) number = 0;
  return digits_of(number).append(suffix);
}

bool is_numbered(std::string_view name, std::size_t digits, std::string_view suffix) {
  return name.size() == digits + suffix.size() && name.ends_with(suffix) &&
         std::ranges::all_of(name.substr(0, digits),
                             [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string numbered_name(std::uint64_t high, std::uint64_t low, std::string_view suffix) {
  return digits_of(high).append(digits_of(low)).append(suffix);
}

}  // namespace tern
