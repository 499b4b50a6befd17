#include "tools/files/streams.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <tern/error.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <system_error>

#include "tools/files/byte_source.h"
#include "tools/text.h"

namespace tern {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;

void write_all(int fd, std::span<const std::byte> bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EPIPE) throw std::system_error(errno, std::generic_category());  // the reader has gone
    if (n < 0) fail_with_errno("write to", name);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

}  // namespace

std::vector<std::byte> read_all(int fd, const std::string& name) {
  std::vector<std::byte> bytes;
  std::size_t size = 0;
  while (true) {
    if (bytes.size() < size + kPiece) bytes.resize(std::max(2 * bytes.size(), size + kPiece));
    const ssize_t n = ::read(fd, bytes.data() + size, kPiece);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_with_errno("read", name);
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  bytes.resize(size);
  return bytes;
}

TemporaryFile::TemporaryFile(const std::string& prefix) {
  const std::string folder = std::filesystem::temp_directory_path().string();
  path_ = fmt::format("{}/{}-XXXXXX", folder, prefix);
  const int fd = ::mkstemp(path_.data());
  if (fd < 0) fail_with_errno("create a temporary file in", folder);
  ::close(fd);
}

TemporaryFile::~TemporaryFile() {
  ::unlink(path_.c_str());
}

void copy_to_stream(const std::string& file, const std::string& stream) {
  const bool standard = stream == "-";
  const std::string name = standard ? "standard output" : escape_name(stream);
  std::fflush(stdout);
  const int fd = standard ? STDOUT_FILENO : ::open(stream.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) fail_with_errno("open", name);
  try {
    FileSource source(file);
    std::vector<std::byte> piece(kPiece);
    while (source.remaining() > 0) {
      const auto part = std::span(piece).first(std::min<std::uint64_t>(kPiece, source.remaining()));
      source.read(part, "the results");
      write_all(fd, part, name);
    }
  } catch (...) {
    if (!standard) ::close(fd);
    throw;
  }
  if (!standard && ::close(fd) != 0) fail_with_errno("write to", name);
}

}  // namespace tern
