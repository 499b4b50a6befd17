#include "tools/files/byte_source.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <cstring>

#include "platform/error.h"
#include "tools/text.h"

namespace tern {

void fail_with_last_error(const char* what, const std::string& name) {
  fail(ErrorCode::io, fmt::format("cannot {} {}: {}", what, name, platform::error_text(platform::last_error())));
}

void ByteSource::read(std::span<std::byte> into, const char* what) {
  if (into.size() > remaining()) {
    fail(ErrorCode::bad_file, fmt::format("{}: ends at byte {} inside {}, which needs {} bytes from byte {}", name_,
                                          size_, what, into.size(), position_));
  }
  if (!into.empty()) read_exactly(into);
  position_ += into.size();
}

FileSource::FileSource(const std::string& path)
    : ByteSource(escape_name(path, 4096), 0), file_(platform::open_to_read(path)) {
  if (!file_.is_open()) fail_with_last_error("open", name());
  const auto info = file_.info();
  if (!info || !info->is_regular())
    fail(ErrorCode::io, fmt::format("cannot read {}: it is not a regular file", name()));
  set_size(info->size);
}

void FileSource::read_exactly(std::span<std::byte> into) {
  while (!into.empty()) {
    const std::int64_t n = file_.read(into);
    if (n < 0) fail_with_last_error("read", name());
    if (n == 0) fail(ErrorCode::io, fmt::format("cannot read {}: it became shorter while it was being read", name()));
    into = into.subspan(static_cast<std::size_t>(n));
  }
}

void MemorySource::read_exactly(std::span<std::byte> into) {
  std::memcpy(into.data(), bytes_.data() + position(), into.size());
}

}  // namespace tern
