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
bool decode_frame(std::span<const std::byte> frame, std::span<std::byte> out) {
  if (ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size()) return false;
  return ZSTD_decompress(out.data(), out.size(), frame.data(), frame.size()) == out.size();
}

/// Calls `decode` for each frame: its number, stored bytes, position in the decoded bytes, and decoded size.
template <class Decode>
std::string each_frame(std::span<const std::byte> stored, const SegmentInfo& segment, bool parallel, Decode decode) {
  const std::size_t count = segment.frames.size();
  std::vector<std::uint64_t> starts(count);
  for (std::size_t i = 1; i < count; ++i) starts[i] = starts[i - 1] + segment.frames[i - 1];
  std::atomic<std::size_t> bad = count;
  const auto some = [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      if (bad.load(std::memory_order_relaxed) < count) return;
      const std::uint64_t at = std::uint64_t{i} * segment.frame_size;
      if (!decode(stored.subspan(starts[i], segment.frames[i]), at,
                  std::min<std::uint64_t>(segment.frame_size, segment.size - at)))
        bad = i;
    }
  };
  if (parallel) {
    parallel_for(static_cast<std::int64_t>(count), 1, some);
  } else {
    some(0, static_cast<std::int64_t>(count));
  }
  if (bad == count) return {};
  return fmt::format("zstd frame {} at byte {} is damaged or does not have the declared size", bad.load(),
                     segment.offset + starts[bad.load()]);
}

}  // namespace

std::string decode_frames(std::span<const std::byte> stored, const SegmentInfo& segment, std::span<std::byte> out) {
  return each_frame(stored, segment, true, [&](std::span<const std::byte> frame, std::uint64_t at, std::uint64_t size) {
    return decode_frame(frame, out.subspan(at, size));
  });
}

std::string check_frames(std::span<const std::byte> stored, const SegmentInfo& segment) {
  std::mutex mutex;
  std::string wrong;
  const auto check = [&](std::span<const std::byte> frame, std::uint64_t at, std::uint64_t size) {
    const auto decoded = std::make_unique_for_overwrite<std::byte[]>(size);
    const std::span<std::byte> bytes(decoded.get(), size);
    if (!decode_frame(frame, bytes)) return false;
    std::string problem = boolean_problem(segment, bytes, at);
    if (problem.empty()) return true;
    const std::lock_guard lock(mutex);
    wrong = std::move(problem);
    return true;
  };
  const std::string damaged = each_frame(stored, segment, segment.frame_size <= kFrameSize, check);
  return damaged.empty() ? wrong : damaged;
}

std::string read_frames(std::span<const std::byte> stored, const SegmentInfo& segment,
                        const std::function<void(std::span<const std::byte>)>& part) {
  const auto decode = [&](std::span<const std::byte> frame, std::uint64_t, std::uint64_t size) {
    const auto decoded = std::make_unique_for_overwrite<std::byte[]>(size);
    if (!decode_frame(frame, {decoded.get(), size})) return false;
    part({decoded.get(), size});
    return true;
  };
  return each_frame(stored, segment, false, decode);
}

std::string boolean_problem(const SegmentInfo& segment, std::span<const std::byte> bytes, std::uint64_t at) {
  auto next = std::ranges::upper_bound(segment.booleans, at, {}, &std::pair<std::uint64_t, std::uint64_t>::second);
  for (; next != segment.booleans.end() && next->first < at + bytes.size(); ++next) {
    const auto [begin, end] = *next;
    const std::uint64_t first = std::max(begin, at), last = std::min<std::uint64_t>(end, at + bytes.size());
    if (first >= last) continue;
    const auto part = bytes.subspan(first - at, last - first);
    const auto bad = std::ranges::find_if(part, [](std::byte b) { return b > std::byte{1}; });
    if (bad != part.end())
      return fmt::format("byte {} is {}; a boolean must be 0 or 1",
                         first + static_cast<std::uint64_t>(bad - part.begin()), std::to_integer<int>(*bad));
  }
  return {};
}

}  // namespace tern
