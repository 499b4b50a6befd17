#include "loader/segment_source.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cstring>

#include "loader/format.h"
#include "threads/span_listener.h"

namespace tern {

namespace {

constexpr const char* kWrongHash = "its hash is wrong: the file was changed or damaged";
constexpr std::size_t kReadChunk = 16 * kHashPiece;  // piece size for reading a segment in parts

}  // namespace

std::span<const std::byte> stored_bytes(std::span<const std::byte> file, const SegmentInfo& segment) {
  return file.subspan(segment.offset, segment.stored_size);
}

SegmentSource::SegmentSource(std::shared_ptr<const FileBytes> file, std::vector<SegmentInfo> segments,
                             std::vector<std::int32_t> segment_of, std::vector<std::string> names, Verify verify)
    : file_(std::move(file)),
      segments_(std::move(segments)),
      segment_of_(std::move(segment_of)),
      names_(std::move(names)),
      verify_(verify),
      slots_(std::make_unique<Slot[]>(segments_.size())) {}

std::span<const std::byte> SegmentSource::bytes(std::uint32_t storage) {
  if (storage >= segment_of_.size()) fail(ErrorCode::internal, fmt::format("storage {} does not exist", storage));
  const std::int32_t segment = segment_of_[storage];
  if (segment < 0) return {};
  Slot& slot = slots_[static_cast<std::size_t>(segment)];
  if (!slot.is_ready.load(std::memory_order_acquire)) prepare(static_cast<std::size_t>(segment));
  return slot.bytes;
}

void SegmentSource::damaged(std::size_t segment, const std::string& what) const {
  const SegmentInfo& info = segments_[segment];
  fail(ErrorCode::bad_file, fmt::format("segment {} ({}), bytes {} to {}: {}", segment, names_[segment], info.offset,
                                        info.offset + info.stored_size, what));
}

void SegmentSource::prepare(std::size_t segment) {
  const SegmentInfo& info = segments_[segment];
  Slot& slot = slots_[segment];
  const std::lock_guard lock(slot.mutex);
  if (slot.is_ready.load(std::memory_order_relaxed)) return;
  const auto stored = stored_bytes(file_->bytes(), info);
  if (verify_ == Verify::first_use) {
    const ListenedSpan span("hash check", names_[segment], stored.size());
    if (!(segment_hash(stored) == info.hash)) damaged(segment, kWrongHash);
  }
  slot.bytes = stored;
  if (info.compressed) {
    MemoryPages decoded(info.size);
    const std::string problem = decode_frames(stored, info, decoded.bytes());
    if (!problem.empty()) damaged(segment, problem);
    file_->release(stored);
    slot.decoded = std::move(decoded);
    slot.bytes = slot.decoded.bytes();
  } else if (reinterpret_cast<std::uintptr_t>(stored.data()) % kSegmentAlignment != 0) {
    // Copies misaligned borrowed bytes.
    slot.decoded = MemoryPages(info.size);
    std::ranges::copy(stored, slot.decoded.bytes().begin());
    slot.bytes = slot.decoded.bytes();
  }
  if (verify_ == Verify::first_use) {
    if (const std::string problem = boolean_problem(info, slot.bytes); !problem.empty()) damaged(segment, problem);
  }
  slot.is_ready.store(true, std::memory_order_release);
}

void SegmentSource::read(std::uint32_t storage, const std::function<void(std::span<const std::byte>)>& part) {
  const std::int32_t number = storage < segment_of_.size() ? segment_of_[storage] : -1;
  const bool hashes = number >= 0 && verify_ == Verify::first_use &&
                      segments_[static_cast<std::size_t>(number)].booleans.empty() &&
                      !slots_[static_cast<std::size_t>(number)].is_ready.load(std::memory_order_acquire) &&
                      address(storage) == file_->bytes().data() + segments_[static_cast<std::size_t>(number)].offset;
  if (!hashes) {  // checked already, or not located in the file
    const std::span<const std::byte> contents = bytes(storage);
    for (std::size_t begin = 0; begin < contents.size(); begin += kReadChunk)
      part(contents.subspan(begin, std::min(kReadChunk, contents.size() - begin)));
    return;
  }
  const auto segment = static_cast<std::size_t>(number);
  const std::span<const std::byte> stored = stored_bytes(file_->bytes(), segments_[segment]);
  const ListenedSpan span("hash check and copy", names_[segment], stored.size());
  SegmentHasher hasher;
  for (std::size_t begin = 0; begin < stored.size(); begin += kReadChunk) {
    const std::span<const std::byte> chunk = stored.subspan(begin, std::min(kReadChunk, stored.size() - begin));
    hasher.add(chunk);
    part(chunk);
  }
  if (!(hasher.finish() == segments_[segment].hash)) damaged(segment, kWrongHash);
  Slot& slot = slots_[segment];
  const std::lock_guard lock(slot.mutex);
  if (slot.is_ready.load(std::memory_order_relaxed)) return;
  slot.bytes = stored;
  slot.is_ready.store(true, std::memory_order_release);
}

const std::byte* SegmentSource::address(std::uint32_t storage) {
  if (storage >= segment_of_.size() || segment_of_[storage] < 0) return nullptr;
  const SegmentInfo& info = segments_[static_cast<std::size_t>(segment_of_[storage])];
  const std::byte* stored = file_->bytes().data() + info.offset;
  const bool in_place = !info.compressed && reinterpret_cast<std::uintptr_t>(stored) % kSegmentAlignment == 0;
  return in_place ? stored : bytes(storage).data();
}

void SegmentSource::release(std::uint32_t storage) {
  if (storage >= segment_of_.size() || segment_of_[storage] < 0) return;
  const SegmentInfo& info = segments_[static_cast<std::size_t>(segment_of_[storage])];
  if (!info.compressed) file_->release(stored_bytes(file_->bytes(), info));
}

std::string SegmentSource::identity(std::uint32_t storage) const {
  if (storage >= segment_of_.size() || segment_of_[storage] < 0) return {};
  if (verify_ == Verify::never || file_->identity().empty()) return {};
  const SegmentInfo& info = segments_[static_cast<std::size_t>(segment_of_[storage])];
  return fmt::format("{} segment {} {} {} {:016x}{:016x}", file_->identity(), info.offset, info.stored_size, info.size,
                     info.hash.high, info.hash.low);
}

}  // namespace tern
