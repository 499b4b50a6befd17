// Proposes the continuation of an earlier occurrence of a text's last tokens (prompt lookup).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tern {

struct RepeatedText {
  std::span<const std::int64_t> tokens;  ///< part of the given tokens; empty without an occurrence
  std::size_t common = 0;                ///< size of the repeated end
};

/// Finds the longest end of `tokens`, of 2 to 16 tokens, that occurs before; of several occurrences, the last.
/// `max_tokens`: limit of proposed tokens.
RepeatedText find_repeated_text(std::span<const std::int64_t> tokens, std::size_t max_tokens);

}  // namespace tern
