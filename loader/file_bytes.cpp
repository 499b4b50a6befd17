#include "loader/file_bytes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tern/error.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>

#include "loader/memory_pages.h"
#include "user_files/file_descriptor.h"

namespace tern {
namespace {

constexpr std::size_t kReadSize = std::size_t{16} << 20;
constexpr std::time_t kCoarsestTime = 2;  // seconds: FAT's

[[noreturn]] void fail_with_errno(const char* what, const std::string& path) {
  const int error = errno;
  fail(ErrorCode::io, fmt::format("cannot {} {}: {}", what, path, std::strerror(error)));
}

std::byte* read_all(int fd, std::size_t size, const std::string& path) {
  MemoryPages memory(size);
  for (std::size_t at = 0; at < size;) {
    const ssize_t n = ::pread(fd, memory.bytes().data() + at, std::min(kReadSize, size - at), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_with_errno("read", path);
    if (n == 0) fail(ErrorCode::io, fmt::format("{} became shorter while it was read: {} of {} bytes", path, at, size));
    at += static_cast<std::size_t>(n);
  }
  return memory.detach();
}

std::string text_of(const struct stat& info) {
  return fmt::format("device {:x} inode {} size {} changed {}.{:09} {}.{:09}", info.st_dev, info.st_ino, info.st_size,
                     info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_ctim.tv_sec, info.st_ctim.tv_nsec);
}

/// True if every later change yields later times. Times in the future come from a clock set back.
bool is_settled(const struct stat& info) {
  struct timespec now {};
  if (::clock_gettime(CLOCK_REALTIME, &now) != 0) return false;
  const auto is_old = [&](const struct timespec& t) {
    const auto age = now.tv_sec - t.tv_sec;
    return age > kCoarsestTime || (age == kCoarsestTime && now.tv_nsec > t.tv_nsec);
  };
  return is_old(info.st_mtim) && is_old(info.st_ctim);
}

}  // namespace

std::shared_ptr<const FileBytes> FileBytes::open(const std::string& path, Access access) {
  // O_NONBLOCK: opening a pipe that nobody writes to must not hang.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) fail_with_errno("open", path);
  struct stat info {};
  if (::fstat(file.number(), &info) != 0) fail_with_errno("open", path);
  if (!S_ISREG(info.st_mode)) fail(ErrorCode::io, fmt::format("cannot open {}: it is not a regular file", path));
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return borrow({});
  std::string identity = is_settled(info) ? text_of(info) : std::string();
  if (access == Access::read) {
    std::byte* bytes = read_all(file.number(), size, path);
    struct stat after {};
    if (::fstat(file.number(), &after) != 0 || text_of(after) != identity) identity.clear();
    return std::shared_ptr<const FileBytes>(new FileBytes(bytes, size, Owner::memory, std::move(identity)));
  }
  const int flags = MAP_PRIVATE | (access == Access::populate ? MAP_POPULATE : 0);
  void* p = ::mmap(nullptr, size, PROT_READ, flags, file.number(), 0);
  if (p == MAP_FAILED) fail_with_errno("map", path);
#ifdef MADV_HUGEPAGE
  ::madvise(p, size, MADV_HUGEPAGE);  // reads missing bytes into large pages, if supported
#endif
  return std::shared_ptr<const FileBytes>(
      new FileBytes(static_cast<const std::byte*>(p), size, Owner::mapping, std::move(identity)));
}

std::shared_ptr<const FileBytes> FileBytes::borrow(std::span<const std::byte> bytes) {
  return std::shared_ptr<const FileBytes>(new FileBytes(bytes.data(), bytes.size(), Owner::none));
}

FileBytes::~FileBytes() {
  if (owner_ != Owner::none) ::munmap(const_cast<std::byte*>(data_), size_);
}

void FileBytes::release(std::span<const std::byte> part) const {
  if (owner_ != Owner::mapping || part.empty()) return;
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t before = reinterpret_cast<std::uintptr_t>(part.data()) % page;  // offset in the first page
  ::madvise(const_cast<std::byte*>(part.data() - before), part.size() + before, MADV_DONTNEED);
}

}  // namespace tern
