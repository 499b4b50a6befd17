#include "tools/files/byte_source.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <cstring>

#include "platform/error.h"
#include "tools/text.h"

namespace tern {

void fail_with_last_error(const char* action, const std::string& name) {
  fail(ErrorCode::io, fmt::format("cannot {} {}: {}", action, name, platform::error_text(platform::last_error())));
}

void ByteSource::read(std::span<std::byte> destination, const char* content_name) {
  if (destination.size() > remaining()) {
    fail(ErrorCode::bad_file, fmt::format("{}: ends at byte {} inside {}, which needs {} bytes from byte {}", name_,
                                          size_, content_name, destination.size(), position_));
  }
  if (!destination.empty()) read_exactly(destination);
  position_ += destination.size();
}

FileSource::FileSource(const std::string& path)
    : ByteSource(escape_name(path, 4096), 0), file_(platform::open_to_read(path)) {
  if (!file_.is_open()) fail_with_last_error("open", name());
  const auto info = file_.info();
  if (!info || !info->is_regular())
    fail(ErrorCode::io, fmt::format("cannot read {}: it is not a regular file", name()));
  set_size(info->size);
}

void FileSource::read_exactly(std::span<std::byte> destination) {
  while (!destination.empty()) {
    const std::int64_t n = file_.read(destination);
    if (n < 0) fail_with_last_error("read", name());
    if (n == 0) fail(ErrorCode::io, fmt::format("cannot read {}: it became shorter while it was being read", name()));
    destination = destination.subspan(static_cast<std::size_t>(n));
  }
}

void MemorySource::read_exactly(std::span<std::byte> destination) {
  std::memcpy(destination.data(), bytes_.data() + position(), destination.size());
}

}  // namespace tern
