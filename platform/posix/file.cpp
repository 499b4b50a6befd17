#include "platform/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <limits>

#include "platform/posix/info.h"

namespace tern::platform {
namespace {

/// Linux and macOS read and write at most 2 GiB in one call.
constexpr std::size_t kMaxTransfer = std::size_t{1} << 30;

int descriptor_of(File::Handle handle) {
  return static_cast<int>(handle);
}

/// Repeats a call interrupted by a signal.
template <typename Call>
auto repeat(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace

FileTime file_time_now() {
  struct timespec now {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return {now.tv_sec, now.tv_nsec};
}

bool File::close() {
  return !is_open() || ::close(descriptor_of(std::exchange(handle_, kNone))) == 0;
}

std::optional<FileInfo> File::info() const {
  struct stat found {};
  if (::fstat(descriptor_of(handle_), &found) != 0) return {};
  return convert_info(found);
}

std::int64_t File::read(std::span<std::byte> bytes) const {
  const std::size_t size = std::min(bytes.size(), kMaxTransfer);
  return repeat([&] { return ::read(descriptor_of(handle_), bytes.data(), size); });
}

std::int64_t File::read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  const std::size_t size = std::min(bytes.size(), kMaxTransfer);
  return repeat([&] { return ::pread(descriptor_of(handle_), bytes.data(), size, static_cast<off_t>(offset)); });
}

bool File::write(std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const std::size_t size = std::min(bytes.size(), kMaxTransfer);
    const ssize_t written = repeat([&] { return ::write(descriptor_of(handle_), bytes.data(), size); });
    if (written < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

bool File::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const std::size_t size = std::min(bytes.size(), kMaxTransfer);
    const ssize_t written =
        repeat([&] { return ::pwrite(descriptor_of(handle_), bytes.data(), size, static_cast<off_t>(offset)); });
    if (written < 0) return false;
    offset += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

bool File::extend(std::uint64_t size) const {
  const auto end = static_cast<off_t>(size);
  return ::ftruncate(descriptor_of(handle_), end) == 0 && ::lseek(descriptor_of(handle_), end, SEEK_SET) >= 0;
}

bool File::set_permissions(unsigned permissions) const {
  return ::fchmod(descriptor_of(handle_), static_cast<mode_t>(permissions)) == 0;
}

void File::touch() const {
  const struct timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
  ::futimens(descriptor_of(handle_), times);
}

bool File::sync() const {
  return ::fsync(descriptor_of(handle_)) == 0;
}

Lock File::lock() const {
  if (::flock(descriptor_of(handle_), LOCK_EX | LOCK_NB) == 0) return Lock::acquired;
  return errno == EWOULDBLOCK ? Lock::busy : Lock::unsupported;
}

File open_to_read(const std::string& path) {
  return File(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

File open_to_write(const std::string& path) {
  return File(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
}

File create_file(const std::string& path, unsigned permissions) {
  return File(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, static_cast<mode_t>(permissions)));
}

std::optional<FileInfo> info_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return {};
  return convert_info(found);
}

bool can_read(const std::string& path) {
  return ::access(path.c_str(), R_OK) == 0;
}

bool can_execute(const std::string& path) {
  return ::access(path.c_str(), X_OK) == 0;
}

bool remove_file(const std::string& path) {
  return ::unlink(path.c_str()) == 0;
}

bool replace_file(const std::string& from, const std::string& to) {
  return ::rename(from.c_str(), to.c_str()) == 0;
}

bool sync_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const File opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return opened.is_open() && (opened.sync() || errno == EINVAL || errno == EROFS);
}

std::uint64_t largest_file_size() {
  struct rlimit limit {};
  const bool is_limited = ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return is_limited ? limit.rlim_cur : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace tern::platform
