#include "exporter/archive/frames.h"

#include <fmt/format.h>
#include <tern/error.h>
#include <zstd.h>

#include <algorithm>

#include "threads/parallel.h"

namespace tern::writing {

void Frames::compress(std::span<const std::byte> bytes, std::vector<std::byte>& frames_out,
                      std::vector<std::uint32_t>& sizes) {
  const std::size_t count = (bytes.size() + kFrameSize - 1) / kFrameSize;
  std::vector<std::vector<std::byte>> frames(count);
  std::vector<std::size_t> results(count);
  parallel_for(static_cast<std::int64_t>(count), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const std::size_t index = i * kFrameSize;
      const auto frame_input = bytes.subspan(index, std::min<std::size_t>(kFrameSize, bytes.size() - index));
      frames[i].resize(ZSTD_compressBound(frame_input.size()));
      results[i] = ZSTD_compress(frames[i].data(), frames[i].size(), frame_input.data(), frame_input.size(), level_);
    }
  });
  for (std::size_t i = 0; i < count; ++i) {
    if (ZSTD_isError(results[i]) != 0) {
      fail(ErrorCode::runtime, fmt::format("zstd cannot compress: {}", ZSTD_getErrorName(results[i])));
    }
    frames_out.insert(frames_out.end(), frames[i].begin(), frames[i].begin() + static_cast<std::ptrdiff_t>(results[i]));
    sizes.push_back(static_cast<std::uint32_t>(results[i]));
  }
}

}  // namespace tern::writing
