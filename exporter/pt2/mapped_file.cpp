#include "exporter/pt2/mapped_file.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "platform/error.h"
#include "platform/memory.h"

namespace tern::pt2 {
namespace {

[[noreturn]] void fail_with_reason(const std::string& path, const char* action) {
  fail(ErrorCode::io,
       fmt::format("{}: cannot {} the file: {}", path, action, platform::error_text(platform::last_error())));
}

}  // namespace

std::unique_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  // Not blocking: opening a pipe must fail the test below rather than wait for a writer.
  const platform::File file = platform::open_to_read(path);
  if (!file.is_open()) fail_with_reason(path, "open");
  const auto info = file.info();
  if (!info) fail_with_reason(path, "examine");
  if (!info->is_regular()) fail(ErrorCode::io, fmt::format("{}: not a regular file", path));
  const auto size = static_cast<std::size_t>(info->size);
  if (size == 0) return std::unique_ptr<const MappedFile>(new MappedFile(nullptr, 0));
  const std::byte* const bytes = platform::map_file(file, size);
  if (bytes == nullptr) fail_with_reason(path, "map");
  return std::unique_ptr<const MappedFile>(new MappedFile(bytes, size));
}

MappedFile::~MappedFile() {
  if (data_) platform::unmap_file(data_, size_);
}

}  // namespace tern::pt2
