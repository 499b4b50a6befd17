// Tokens and their ids.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tern::text {

using TokenId = std::uint32_t;
inline constexpr TokenId kNoToken = 0xffffffffu;
inline constexpr TokenId kMaxId = (1u << 22) - 1;
inline constexpr std::size_t kMaxToken = 4096;  ///< bytes of a token

/// Tokens of a model by text and by id.
class Vocabulary {
 public:
  /// Adds a token; a later token of the same text or id replaces the earlier one. Throws bad_file for an id or a size
  /// beyond the limits.
  void add(std::string token, std::uint64_t id);
  TokenId find(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? kNoToken : found->second;
  }
  /// Text of an id, or null.
  const std::string* token(std::uint64_t id) const { return id < tokens_.size() ? tokens_[id] : nullptr; }
  /// Largest id plus 1.
  std::size_t size() const { return tokens_.size(); }
  std::size_t count() const { return ids_.size(); }

 private:
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, TokenId> ids_;
  std::vector<const std::string*> tokens_;
};

/// Ids of the tokens <0x00> to <0xFF>; kNoToken for missing ones.
std::vector<TokenId> byte_tokens(const Vocabulary& vocabulary);

}  // namespace tern::text
