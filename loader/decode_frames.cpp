#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>

#include "kernels/cpu/parallel.h"
#include "loader/segment_source.h"

namespace tern {
namespace {

/// One frame, no more and no less, that fills `out`. Decoding straight into `out` needs no window of the frame's
/// choice.
bool decode_frame(std::span<const std::byte> frame, std::span<std::byte> out) {
  if (ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size()) return false;
  return ZSTD_decompress(out.data(), out.size(), frame.data(), frame.size()) == out.size();
}

}  // namespace

std::string decode_frames(std::span<const std::byte> stored, const SegmentInfo& segment, std::span<std::byte> out) {
  const std::size_t count = segment.frames.size();
  std::vector<std::uint64_t> starts(count);
  for (std::size_t i = 1; i < count; ++i) starts[i] = starts[i - 1] + segment.frames[i - 1];
  std::atomic<std::size_t> bad = count;
  parallel_for(static_cast<std::int64_t>(count), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      if (bad.load(std::memory_order_relaxed) < count) return;
      const std::uint64_t at = std::uint64_t{i} * segment.frame_size;
      const auto target = out.subspan(at, std::min<std::uint64_t>(segment.frame_size, out.size() - at));
      if (!decode_frame(stored.subspan(starts[i], segment.frames[i]), target)) bad = i;
    }
  });
  if (bad == count) return {};
  return fmt::format("zstd frame {} at byte {} is damaged, or has not the declared size", bad.load(),
                     segment.offset + starts[bad.load()]);
}

}  // namespace tern
