#include "loader/file_bytes.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cstdint>

#include "loader/memory_pages.h"
#include "platform/error.h"
#include "platform/memory.h"

namespace tern {
namespace {

constexpr std::size_t kReadSize = std::size_t{16} << 20;
constexpr std::int64_t kCoarsestTime = 2;  // seconds: FAT's

[[noreturn]] void fail_access(const char* action, const std::string& path) {
  fail(ErrorCode::io, fmt::format("cannot {} {}: {}", action, path, platform::error_text(platform::last_error())));
}

std::byte* read_all(const platform::File& file, std::size_t size, const std::string& path) {
  MemoryPages memory(size);
  for (std::size_t file_offset = 0; file_offset < size;) {
    const std::int64_t n =
        file.read_at(file_offset, memory.bytes().subspan(file_offset, std::min(kReadSize, size - file_offset)));
    if (n < 0) fail_access("read", path);
    if (n == 0)
      fail(ErrorCode::io, fmt::format("{} became shorter while it was read: {} of {} bytes", path, file_offset, size));
    file_offset += static_cast<std::size_t>(n);
  }
  return memory.detach();
}

std::string text_of(const platform::FileInfo& info) {
  return fmt::format("device {:x} inode {} size {} changed {}.{:09} {}.{:09}", info.volume, info.number, info.size,
                     info.modified.seconds, info.modified.nanoseconds, info.changed.seconds, info.changed.nanoseconds);
}

/// True if every later change yields later times. Times in the future come from a clock set back.
bool is_settled(const platform::FileInfo& info) {
  const platform::FileTime current_time = platform::file_time_now();
  const auto is_old = [&](const platform::FileTime& t) {
    const std::int64_t age = current_time.seconds - t.seconds;
    return age > kCoarsestTime || (age == kCoarsestTime && current_time.nanoseconds > t.nanoseconds);
  };
  return is_old(info.modified) && is_old(info.changed);
}

}  // namespace

std::shared_ptr<const FileBytes> FileBytes::open(const std::string& path, Access access) {
  const platform::File file = platform::open_to_read(path);
  if (!file.is_open()) fail_access("open", path);
  const auto info = file.info();
  if (!info) fail_access("open", path);
  if (!info->is_regular()) fail(ErrorCode::io, fmt::format("cannot open {}: it is not a regular file", path));
  const std::size_t size = info->size;
  if (size == 0) return borrow({});
  std::string identity = is_settled(*info) ? text_of(*info) : std::string();
  if (access == Access::read) {
    std::byte* bytes = read_all(file, size, path);
    const auto info_after = file.info();
    if (!info_after || text_of(*info_after) != identity) identity.clear();
    return std::shared_ptr<const FileBytes>(new FileBytes(bytes, size, Owner::memory, std::move(identity)));
  }
  const std::byte* const bytes = platform::map_file(file, size, access == Access::populate);
  if (bytes == nullptr) fail_access("map", path);
  platform::prefer_large_pages(bytes, size);  // reads missing bytes into large pages, if supported
  return std::shared_ptr<const FileBytes>(new FileBytes(bytes, size, Owner::mapping, std::move(identity)));
}

std::shared_ptr<const FileBytes> FileBytes::borrow(std::span<const std::byte> bytes) {
  return std::shared_ptr<const FileBytes>(new FileBytes(bytes.data(), bytes.size(), Owner::none));
}

FileBytes::~FileBytes() {
  if (owner_ == Owner::mapping) platform::unmap_file(data_, size_);
  if (owner_ == Owner::memory) platform::free_pages(const_cast<std::byte*>(data_), size_);
}

void FileBytes::release(std::span<const std::byte> range) const {
  if (owner_ == Owner::mapping && !range.empty()) platform::release_mapped(range.data(), range.size());
}

}  // namespace tern
