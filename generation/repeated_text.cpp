#include "generation/repeated_text.h"

#include <algorithm>

namespace tern {
namespace {

constexpr std::size_t kMinCommon = 2, kMaxCommon = 16;

/// Number of equal tokens before two positions.
std::size_t common_before(std::span<const std::int64_t> tokens, std::size_t a, std::size_t b) {
  const std::size_t max_common = std::min(a, kMaxCommon);
  std::size_t count = 0;
  while (count < max_common && tokens[a - 1 - count] == tokens[b - 1 - count]) ++count;
  return count;
}

}  // namespace

RepeatedText find_repeated_text(std::span<const std::int64_t> tokens, std::size_t max_tokens) {
  std::size_t longest = kMinCommon - 1, repeated_begin = 0;
  for (std::size_t i = tokens.size() - std::min<std::size_t>(tokens.size(), 1); i > 0 && longest < kMaxCommon; --i) {
    const std::size_t common = common_before(tokens, i, tokens.size());
    if (common <= longest) continue;
    longest = common;
    repeated_begin = i;
  }
  if (repeated_begin == 0) return {};
  return {tokens.subspan(repeated_begin, std::min(max_tokens, tokens.size() - repeated_begin)), longest};
}

}  // namespace tern
