#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "loader/format.h"
#include "loader/segment_source.h"
#include "threads/parallel.h"

namespace tern {
namespace {

/// Decodes exactly one frame into exactly `out`. Decoding directly into `out` avoids a window sized by the frame.
bool decode_frame(std::span<const std::byte> frame, std::span<std::byte> decoded_out) {
  if (ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size()) return false;
  return ZSTD_decompress(decoded_out.data(), decoded_out.size(), frame.data(), frame.size()) == decoded_out.size();
}

/// Calls `decode` for each frame: its number, stored bytes, position in the decoded bytes, and decoded size.
template <class Decode>
std::string each_frame(std::span<const std::byte> stored, const SegmentInfo& segment, bool parallel, Decode decode) {
  const std::size_t count = segment.frames.size();
  std::vector<std::uint64_t> starts(count);
  for (std::size_t i = 1; i < count; ++i) starts[i] = starts[i - 1] + segment.frames[i - 1];
  std::atomic<std::size_t> bad = count;
  const auto decode_range = [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      if (bad.load(std::memory_order_relaxed) < count) return;
      const std::uint64_t byte_offset = std::uint64_t{i} * segment.frame_size;
      if (!decode(stored.subspan(starts[i], segment.frames[i]), byte_offset,
                  std::min<std::uint64_t>(segment.frame_size, segment.size - byte_offset)))
        bad = i;
    }
  };
  if (parallel) {
    parallel_for(static_cast<std::int64_t>(count), 1, decode_range);
  } else {
    decode_range(0, static_cast<std::int64_t>(count));
  }
  if (bad == count) return {};
  return fmt::format("zstd frame {} at byte {} is damaged or does not have the declared size", bad.load(),
                     segment.offset + starts[bad.load()]);
}

}  // namespace

std::string decode_frames(std::span<const std::byte> frames, const SegmentInfo& segment,
                          std::span<std::byte> decoded_out) {
  return each_frame(frames, segment, true,
                    [&](std::span<const std::byte> frame, std::uint64_t byte_offset, std::uint64_t size) {
                      return decode_frame(frame, decoded_out.subspan(byte_offset, size));
                    });
}

std::string check_frames(std::span<const std::byte> frames, const SegmentInfo& segment) {
  std::mutex mutex;
  std::string wrong;
  const auto check = [&](std::span<const std::byte> frame, std::uint64_t byte_offset, std::uint64_t size) {
    const auto decoded = std::make_unique_for_overwrite<std::byte[]>(size);
    const std::span<std::byte> bytes(decoded.get(), size);
    if (!decode_frame(frame, bytes)) return false;
    std::string problem = boolean_problem(segment, bytes, byte_offset);
    if (problem.empty()) return true;
    const std::lock_guard lock(mutex);
    wrong = std::move(problem);
    return true;
  };
  const std::string damaged = each_frame(frames, segment, segment.frame_size <= kFrameSize, check);
  return damaged.empty() ? wrong : damaged;
}

std::string read_frames(std::span<const std::byte> frames, const SegmentInfo& segment,
                        const std::function<void(std::span<const std::byte>)>& on_bytes) {
  const auto decode = [&](std::span<const std::byte> frame, std::uint64_t, std::uint64_t size) {
    const auto decoded = std::make_unique_for_overwrite<std::byte[]>(size);
    if (!decode_frame(frame, {decoded.get(), size})) return false;
    on_bytes({decoded.get(), size});
    return true;
  };
  return each_frame(frames, segment, false, decode);
}

std::string boolean_problem(const SegmentInfo& segment, std::span<const std::byte> bytes, std::uint64_t byte_offset) {
  auto next =
      std::ranges::upper_bound(segment.booleans, byte_offset, {}, &std::pair<std::uint64_t, std::uint64_t>::second);
  for (; next != segment.booleans.end() && next->first < byte_offset + bytes.size(); ++next) {
    const auto [begin, end] = *next;
    const std::uint64_t first = std::max(begin, byte_offset),
                        last = std::min<std::uint64_t>(end, byte_offset + bytes.size());
    if (first >= last) continue;
    const auto bytes_checked = bytes.subspan(first - byte_offset, last - first);
    const auto bad = std::ranges::find_if(bytes_checked, [](std::byte b) { return b > std::byte{1}; });
    if (bad != bytes_checked.end())
      return fmt::format("byte {} is {}; a boolean must be 0 or 1",
                         first + static_cast<std::uint64_t>(bad - bytes_checked.begin()), std::to_integer<int>(*bad));
  }
  return {};
}

}  // namespace tern
