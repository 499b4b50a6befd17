#include "exporter/archive/frames.h"

#include <fmt/format.h>
#include <tern/error.h>
#include <zstd.h>

#include <algorithm>

namespace tern::writing {

void Frames::compress(std::span<const std::byte> bytes, std::vector<std::byte>& stored,
                      std::vector<std::uint32_t>& sizes) {
  const std::size_t count = (bytes.size() + kFrameSize - 1) / kFrameSize;
  std::vector<std::vector<std::byte>> frames(count);
  std::vector<std::size_t> results(count);
#pragma omp parallel for schedule(dynamic, 1) if (count > 1)
  for (std::size_t i = 0; i < count; ++i) {
    const auto piece = bytes.subspan(i * kFrameSize, std::min<std::size_t>(kFrameSize, bytes.size() - i * kFrameSize));
    frames[i].resize(ZSTD_compressBound(piece.size()));
    results[i] = ZSTD_compress(frames[i].data(), frames[i].size(), piece.data(), piece.size(), level_);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (ZSTD_isError(results[i]) != 0) {
      fail(ErrorCode::runtime, fmt::format("zstd cannot compress: {}", ZSTD_getErrorName(results[i])));
    }
    stored.insert(stored.end(), frames[i].begin(), frames[i].begin() + static_cast<std::ptrdiff_t>(results[i]));
    sizes.push_back(static_cast<std::uint32_t>(results[i]));
  }
}

}  // namespace tern::writing
