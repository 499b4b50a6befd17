// The texts of a vocabulary in the order of their bytes.
#pragma once

#include <tern/text.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tern::grammar {

/// Immutable. Tokens with a common begin are neighbours, so that a walk reads the begin once.
class TokenTable {
 public:
  struct Entry {
    std::uint32_t token, begin, size;
    std::uint32_t common;  ///< bytes in common with the entry before
  };

  /// Texts of the tokens below `vocabulary`, without special tokens and tokens without text.
  TokenTable(const Tokenizer& tokenizer, std::int64_t vocabulary);

  const std::vector<Entry>& entries() const { return entries_; }
  std::string_view text(const Entry& entry) const { return std::string_view(bytes_).substr(entry.begin, entry.size); }
  /// Empty for special tokens.
  const std::string& text(std::int64_t token) const { return texts_[static_cast<std::size_t>(token)]; }
  std::int64_t vocabulary() const { return static_cast<std::int64_t>(texts_.size()); }
  std::size_t max_bytes() const { return max_bytes_; }

 private:
  std::vector<std::string> texts_;  ///< text of each token id
  std::string bytes_;
  std::vector<Entry> entries_;
  std::size_t max_bytes_ = 0;
};

}  // namespace tern::grammar
