#include "loader/atomic_file.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <array>

#include "platform/error.h"
#include "platform/machine.h"
#include "platform/path.h"

namespace tern {
namespace {

/// Writes regular files in pieces of a large page, so that Linux caches them in large pages. A reader mapping the file
/// then has a five-hundredth of the page faults and reads faster.
constexpr std::size_t kPiece = std::size_t{2} << 20;

/// A file left by a killed process with the same process number may exist.
constexpr int kMaxNames = 100;

[[noreturn]] void fail_with_system_error(const char* action, const std::string& path) {
  fail(ErrorCode::io, fmt::format("{} {}: {}", action, path, platform::error_text(platform::last_error())));
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  const auto existing = platform::info_of(path_);
  if (existing && existing->kind == platform::FileInfo::Kind::folder)
    fail(ErrorCode::io, fmt::format("cannot write {}: it is a folder", path_));
  if (existing && !existing->is_regular()) {
    file_ = platform::open_to_write(path_);
    if (!file_.is_open()) fail_with_system_error("cannot open", path_);
    return;
  }
  if (existing) {
    if (std::string resolved = platform::resolved_path(path_); !resolved.empty()) path_ = std::move(resolved);
  }
  for (int i = 0; i < kMaxNames && !file_.is_open(); ++i) {
    temporary_ = fmt::format("{}.tmp.{}", path_, platform::process_number());
    if (i > 0) temporary_ += fmt::format(".{}", i);
    file_ = platform::create_file(temporary_);
    if (!file_.is_open() && !platform::is_existing(platform::last_error())) break;
  }
  // A throwing constructor skips the destructor, but then no file exists yet.
  if (!file_.is_open()) fail_with_system_error("cannot create", path_);
  // Keeps the permissions of a replaced file; file systems without permissions may refuse, which is harmless.
  if (existing) file_.set_permissions(existing->permissions);
}

AtomicFile::~AtomicFile() {
  file_.close();
  if (!temporary_.empty()) platform::remove_file(temporary_);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  fill_hole();
  if (temporary_.empty()) {
    size_ += bytes.size();
    return write_bytes(bytes);
  }
  while (!bytes.empty()) {
    const auto chunk = bytes.first(std::min(bytes.size(), kPiece - size_ % kPiece));
    size_ += chunk.size();
    bytes = bytes.subspan(chunk.size());
    if (chunk.size() == kPiece) {
      write_bytes(chunk);
      continue;
    }
    unwritten_.insert(unwritten_.end(), chunk.begin(), chunk.end());
    if (size_ % kPiece == 0) flush();
  }
}

void AtomicFile::write_bytes(std::span<const std::byte> bytes) {
  if (!file_.write(bytes)) fail_with_system_error("cannot write", path_);
}

void AtomicFile::flush() {
  write_bytes(unwritten_);
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
  if (!file_.extend(size_)) fail_with_system_error("cannot write", path_);
  hole_ = 0;
}

void AtomicFile::overwrite(std::uint64_t offset, std::span<const std::byte> bytes) {
  fill_hole();
  flush();
  if (offset > size_ || bytes.size() > size_ - offset) {
    fail(ErrorCode::internal,
         fmt::format("{}: overwriting bytes {} to {} of {} written", path_, offset, offset + bytes.size(), size_));
  }
  if (!file_.write_at(offset, bytes)) fail_with_system_error("cannot write", path_);
}

void AtomicFile::commit() {
  if (!file_.is_open()) fail(ErrorCode::internal, fmt::format("{}: committed twice", path_));
  fill_hole();
  flush();
  if (!file_.close()) fail_with_system_error("cannot write", path_);
  if (temporary_.empty()) return;
  if (!platform::replace_file(temporary_, path_)) fail_with_system_error("cannot rename the finished file to", path_);
  temporary_.clear();
}

void AtomicFile::commit_durably() {
  if (!file_.is_open() || temporary_.empty()) return commit();
  fill_hole();
  flush();
  if (!file_.sync()) fail_with_system_error("cannot write", path_);
  commit();
  if (!platform::sync_folder_of(path_)) fail_with_system_error("cannot write the folder of", path_);
}

}  // namespace tern
