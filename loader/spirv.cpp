#include "loader/spirv.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

namespace tern {
namespace {

// SPIR-V specification, 2.3 "Physical Layout of a SPIR-V Module", and 2.17 "Universal Limits".
constexpr std::uint32_t kSpirvMagic = 0x07230203;
constexpr std::uint32_t kOldestVersion = 0x00010000, kNewestVersion = 0x00010600;
constexpr std::uint32_t kMaxIds = 0x3fffff;
constexpr std::size_t kHeaderWords = 5;

}  // namespace

std::string spirv_problem(std::span<const std::byte> bytes) {
  const std::size_t words = bytes.size() / sizeof(std::uint32_t);
  if (bytes.size() % sizeof(std::uint32_t) != 0 || words <= kHeaderWords)
    return fmt::format("{} bytes are not a SPIR-V module", bytes.size());
  const auto word = [&](std::size_t i) {
    std::uint32_t w = 0;
    std::memcpy(&w, bytes.data() + i * sizeof w, sizeof w);
    return w;
  };
  if (word(0) != kSpirvMagic) return "it does not start like a SPIR-V module";
  if (word(1) < kOldestVersion || word(1) > kNewestVersion || (word(1) & 0xff) != 0)
    return fmt::format("SPIR-V version {}.{} is not known", word(1) >> 16, word(1) >> 8 & 0xff);
  if (word(3) == 0 || word(3) > kMaxIds) return fmt::format("it has {} ids", word(3));
  if (word(4) != 0) return fmt::format("instruction schema {} is not known", word(4));
  for (std::size_t at = kHeaderWords; at < words;) {
    const std::size_t length = word(at) >> 16;
    if (length == 0 || length > words - at)
      return fmt::format("the instruction at word {} has {} words, but {} follow", at, length, words - at);
    at += length;
  }
  return {};
}

}  // namespace tern
