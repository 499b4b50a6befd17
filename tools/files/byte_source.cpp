#include "tools/files/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <tern/error.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tools/text.h"

namespace tern {
namespace {

/// Linux reads at most 0x7ffff000 bytes per call.
constexpr std::size_t kMaxRead = std::size_t{1} << 30;

}  // namespace

void fail_with_errno(const char* what, const std::string& name) {
  fail(ErrorCode::io, fmt::format("cannot {} {}: {}", what, name, std::strerror(errno)));
}

void ByteSource::read(std::span<std::byte> into, const char* what) {
  if (into.size() > remaining()) {
    fail(ErrorCode::bad_file, fmt::format("{}: ends at byte {} inside {}, which needs {} bytes from byte {}", name_,
                                          size_, what, into.size(), position_));
  }
  if (!into.empty()) read_exactly(into);
  position_ += into.size();
}

FileSource::FileSource(const std::string& path) : ByteSource(escape_name(path, 4096), 0) {
  // O_NONBLOCK: opening a pipe without a writer must not hang. No effect on a regular file.
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) fail_with_errno("open", name());
  struct stat status {};
  const bool known = ::fstat(fd_, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    ::close(fd_);
    fail(ErrorCode::io, fmt::format("cannot read {}: it is not a regular file", name()));
  }
  set_size(static_cast<std::uint64_t>(status.st_size));
}

FileSource::~FileSource() {
  ::close(fd_);
}

void FileSource::read_exactly(std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t n = ::read(fd_, into.data(), std::min(into.size(), kMaxRead));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_with_errno("read", name());
    if (n == 0) fail(ErrorCode::io, fmt::format("cannot read {}: it became shorter while it was being read", name()));
    into = into.subspan(static_cast<std::size_t>(n));
  }
}

void MemorySource::read_exactly(std::span<std::byte> into) {
  std::memcpy(into.data(), bytes_.data() + position(), into.size());
}

}  // namespace tern
