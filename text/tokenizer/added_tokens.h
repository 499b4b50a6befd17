// Tokens beside the model's vocabulary, found in the text before all else: special tokens and a user's own.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/tokenizer/normalizer.h"
#include "text/tokenizer/trie.h"
#include "text/tokenizer/vocabulary.h"

namespace tern::text {

struct AddedToken {
  std::string content;
  std::string decoded;  ///< text in decode(): the normalized content of a token found after normalization
  TokenId id = 0;
  bool is_special = false;
  bool is_normalized = false;                      ///< found in the normalized text, else in the text as given
  bool is_single_word = false;                     ///< only between characters that are no parts of words
  bool strips_left = false, strips_right = false;  ///< takes white space beside it
};

/// Part of a text: an added token, or text between them.
struct Section {
  std::string_view text;
  TokenId id = kNoToken;
};

class AddedTokens {
 public:
  AddedTokens() = default;
  /// `list`: the field "added_tokens". Ids are those of the vocabulary for tokens in it.
  AddedTokens(const nlohmann::json& list, const Vocabulary& vocabulary, const Normalizer* normalizer);
  explicit AddedTokens(std::vector<AddedToken> tokens, const Normalizer* normalizer = nullptr);

  /// Parts of a text at tokens that are looked for before (`normalized` false) or after normalization.
  void split(std::string_view text, bool normalized, bool parse_special, std::vector<Section>& sections) const;

  const std::vector<AddedToken>& list() const { return tokens_; }
  const AddedToken* find(TokenId id) const {
    const auto found = id_positions_.find(id);
    return found == id_positions_.end() ? nullptr : &tokens_[found->second];
  }
  const AddedToken* find(std::string_view content) const {
    const auto found = text_positions_.find(content);
    return found == text_positions_.end() ? nullptr : &tokens_[found->second];
  }

 private:
  void index(const Normalizer* normalizer);

  std::vector<AddedToken> tokens_;
  std::unordered_map<TokenId, std::size_t> id_positions_;
  std::unordered_map<std::string_view, std::size_t> text_positions_;
  std::vector<std::string> normalized_;  ///< texts of `normalized_trie_`
  Trie raw_trie_, normalized_trie_;      ///< numbers of tokens
};

}  // namespace tern::text
