// Compresses bytes into independent zstd frames on all cores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "loader/format.h"

namespace tern::writing {

class Frames {
 public:
  static constexpr std::uint64_t kBatch = std::uint64_t{32} * kFrameSize;

  explicit Frames(int level) : level_(level) {}
  /// Appends one frame per kFrameSize bytes (the last may be shorter) to `frames_out`, and its size to `sizes`.
  void compress(std::span<const std::byte> bytes, std::vector<std::byte>& frames_out,
                std::vector<std::uint32_t>& sizes);

 private:
  int level_;
};

}  // namespace tern::writing
