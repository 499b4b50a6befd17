#include "exporter/pt2/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tern/error.h>

#include <cerrno>
#include <cstring>

#include "user_files/file_descriptor.h"

namespace tern::pt2 {
namespace {

[[noreturn]] void fail_with_errno(const std::string& path, const char* what) {
  fail(ErrorCode::io, fmt::format("{}: cannot {} the file: {}", path, what, std::strerror(errno)));
}

}  // namespace

std::unique_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  // Not blocking: opening a pipe must fail the test below rather than wait for a writer.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) fail_with_errno(path, "open");
  struct stat info {};
  if (::fstat(file.number(), &info) != 0) fail_with_errno(path, "examine");
  if (!S_ISREG(info.st_mode)) fail(ErrorCode::io, fmt::format("{}: not a regular file", path));
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return std::unique_ptr<const MappedFile>(new MappedFile(nullptr, 0));
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (at == MAP_FAILED) fail_with_errno(path, "map");
  return std::unique_ptr<const MappedFile>(new MappedFile(static_cast<const std::byte*>(at), size));
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace tern::pt2
