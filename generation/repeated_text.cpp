#include "generation/repeated_text.h"

#include <algorithm>

namespace tern {
namespace {

constexpr std::size_t kLeastCommon = 2, kMostCommon = 16;

/// Number of equal tokens before two positions.
std::size_t common_before(std::span<const std::int64_t> tokens, std::size_t a, std::size_t b) {
  const std::size_t most = std::min(a, kMostCommon);
  std::size_t count = 0;
  while (count < most && tokens[a - 1 - count] == tokens[b - 1 - count]) ++count;
  return count;
}

}  // namespace

RepeatedText find_repeated_text(std::span<const std::int64_t> tokens, std::size_t most) {
  std::size_t longest = kLeastCommon - 1, at = 0;
  for (std::size_t i = tokens.size() - std::min<std::size_t>(tokens.size(), 1); i > 0 && longest < kMostCommon; --i) {
    const std::size_t common = common_before(tokens, i, tokens.size());
    if (common <= longest) continue;
    longest = common;
    at = i;
  }
  if (at == 0) return {};
  return {tokens.subspan(at, std::min(most, tokens.size() - at)), longest};
}

}  // namespace tern
