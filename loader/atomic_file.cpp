#include "loader/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <tern/error.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace tern {
namespace {

/// Linux writes at most 0x7ffff000 bytes in one call.
constexpr std::size_t kMaxWrite = std::size_t{1} << 30;

/// Writes regular files in pieces of a large page, so that Linux caches them in large pages. A reader mapping the file
/// then has a five-hundredth of the page faults and reads faster.
constexpr std::size_t kPiece = std::size_t{2} << 20;

/// A file left by a killed process with the same process number may exist.
constexpr int kMaxNames = 100;

std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real ? std::string(real.get()) : path;  // a new file keeps its name
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  struct stat existing {};
  const bool exists = ::stat(path_.c_str(), &existing) == 0;
  if (exists && S_ISDIR(existing.st_mode)) fail(ErrorCode::io, fmt::format("cannot write {}: it is a folder", path_));
  if (exists && !S_ISREG(existing.st_mode)) {
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) fail_with_errno("cannot open", path_);
    return;
  }
  if (exists) path_ = resolved(path_);
  for (int i = 0; i < kMaxNames && fd_ < 0; ++i) {
    temporary_ = fmt::format("{}.tmp.{}", path_, ::getpid());
    if (i > 0) temporary_ += fmt::format(".{}", i);
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EEXIST) break;
  }
  if (fd_ < 0) fail_with_errno("cannot create", path_);
  // Keeps the permissions of a replaced file; file systems without permissions may refuse, which is harmless.
  if (exists && ::fchmod(fd_, existing.st_mode & 0777) != 0) errno = 0;
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  fill_hole();
  if (temporary_.empty()) {
    size_ += bytes.size();
    return put(bytes);
  }
  while (!bytes.empty()) {
    const auto now = bytes.first(std::min(bytes.size(), kPiece - size_ % kPiece));
    size_ += now.size();
    bytes = bytes.subspan(now.size());
    if (now.size() == kPiece) {
      put(now);
      continue;
    }
    unwritten_.insert(unwritten_.end(), now.begin(), now.end());
    if (size_ % kPiece == 0) flush();
  }
}

void AtomicFile::put(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), std::min(bytes.size(), kMaxWrite));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_with_errno("cannot write", path_);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

void AtomicFile::flush() {
  put(unwritten_);
  unwritten_.clear();
}

void AtomicFile::write_zeros(std::uint64_t count) {
  static constexpr std::array<std::byte, 4096> kZeros{};
  // Writing a short run is cheaper than skipping it.
  if (!temporary_.empty() && count > kZeros.size()) {
    hole_ += count;
    size_ += count;
    return;
  }
  for (; count > 0; count -= std::min<std::uint64_t>(count, kZeros.size())) {
    write(std::span(kZeros).first(std::min<std::uint64_t>(count, kZeros.size())));
  }
}

void AtomicFile::fill_hole() {
  if (hole_ == 0) return;
  flush();
  if (::ftruncate(fd_, static_cast<off_t>(size_)) != 0 || ::lseek(fd_, static_cast<off_t>(size_), SEEK_SET) < 0) {
    fail_with_errno("cannot write", path_);
  }
  hole_ = 0;
}

void AtomicFile::overwrite(std::uint64_t offset, std::span<const std::byte> bytes) {
  fill_hole();
  flush();
  if (offset > size_ || bytes.size() > size_ - offset) {
    fail(ErrorCode::internal,
         fmt::format("{}: overwriting bytes {} to {} of {} written", path_, offset, offset + bytes.size(), size_));
  }
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_, bytes.data(), std::min(bytes.size(), kMaxWrite), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_with_errno("cannot write", path_);
    offset += static_cast<std::uint64_t>(n);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

void AtomicFile::commit() {
  if (fd_ < 0) fail(ErrorCode::internal, fmt::format("{}: committed twice", path_));
  fill_hole();
  flush();
  // close() reports data lost by a network file system.
  const int closed = ::close(fd_);
  fd_ = -1;
  if (closed != 0) fail_with_errno("cannot write", path_);
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_with_errno("cannot rename the finished file to", path_);
  temporary_.clear();
}

void AtomicFile::commit_durably() {
  if (fd_ < 0 || temporary_.empty()) return commit();
  fill_hole();
  flush();
  if (::fsync(fd_) != 0) fail_with_errno("cannot write", path_);
  commit();
  sync_folder();
}

void AtomicFile::sync_folder() const {
  const std::size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail_with_errno("cannot open the folder of", path_);
  const int error = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  // Some file systems cannot sync a folder.
  if (error == 0 || error == EINVAL || error == EROFS) return;
  errno = error;
  fail_with_errno("cannot write the folder of", path_);
}

void AtomicFile::fail_with_errno(const char* what, const std::string& path) const {
  const int error = errno;
  // A throwing constructor skips the destructor, but then no file exists yet.
  fail(ErrorCode::io, fmt::format("{} {}: {}", what, path, std::strerror(error)));
}

}  // namespace tern
