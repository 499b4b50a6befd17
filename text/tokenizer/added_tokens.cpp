#include "text/tokenizer/added_tokens.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "text/tokenizer/fields.h"
#include "text/unicode.h"

namespace tern::text {
namespace {

constexpr std::size_t kMaxAddedToken = 1024;

std::size_t leading_space(std::string_view s) {
  std::size_t position = 0;
  while (position < s.size()) {
    const Character c = character_at(s, position);
    if (!is_white_space(c.code)) break;
    position += c.size;
  }
  return position;
}

/// Begin of the white space at the end.
std::size_t trailing_space(std::string_view s) {
  while (!s.empty()) {
    const Character c = last_character(s);
    if (!is_white_space(c.code)) break;
    s.remove_suffix(c.size);
  }
  return s.size();
}

}  // namespace

AddedTokens::AddedTokens(const nlohmann::json& list, const Vocabulary& vocabulary, const Normalizer* normalizer) {
  for (const auto& entry : list) {
    AddedToken t;
    t.content = text_field(entry, "content");
    if (t.content.empty()) continue;
    const std::int64_t id = integer_field(entry, "id", -1);
    const TokenId known = vocabulary.find(t.content);
    if (known == kNoToken && (id < 0 || id > kMaxId))
      fail(ErrorCode::bad_file,
           fmt::format("the added token '{}' has id {}; ids are from 0 to {}", t.content, id, kMaxId));
    t.id = known != kNoToken ? known : static_cast<TokenId>(id);
    t.is_special = bool_field(entry, "special", false);
    t.is_normalized = bool_field(entry, "normalized", !t.is_special);
    t.is_single_word = bool_field(entry, "single_word", false);
    t.strips_left = bool_field(entry, "lstrip", false);
    t.strips_right = bool_field(entry, "rstrip", false);
    tokens_.push_back(std::move(t));
  }
  index(normalizer);
}

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const Normalizer* normalizer) : tokens_(std::move(tokens)) {
  index(normalizer);
}

void AddedTokens::index(const Normalizer* normalizer) {
  std::vector<Trie::Entry> raw_entries, normalized_entries;
  normalized_.reserve(tokens_.size());  // the trie's entries view these texts
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    AddedToken& t = tokens_[i];
    t.decoded = t.content;
    if (t.content.size() > kMaxAddedToken)
      fail(ErrorCode::bad_file,
           fmt::format("an added token has {} bytes; at most {} are allowed", t.content.size(), kMaxAddedToken));
    id_positions_.insert_or_assign(t.id, i);
    text_positions_.insert_or_assign(std::string_view(t.content), i);
    if (!t.is_normalized) {
      raw_entries.emplace_back(t.content, static_cast<std::uint32_t>(i));
      continue;
    }
    std::string& text = normalized_.emplace_back(t.content);
    if (normalizer != nullptr) normalizer->apply(text);
    t.decoded = text;
    normalized_entries.emplace_back(text, static_cast<std::uint32_t>(i));
  }
  raw_trie_ = Trie(std::move(raw_entries));
  normalized_trie_ = Trie(std::move(normalized_entries));
}

void AddedTokens::split(std::string_view text, bool normalized, bool parse_special,
                        std::vector<Section>& sections) const {
  const Trie& trie = normalized ? normalized_trie_ : raw_trie_;
  std::size_t begin = 0;  // begin of the remaining text
  for (std::size_t position = 0; !trie.empty() && position < text.size();) {
    const Trie::Found found = trie.longest(text.substr(position));
    if (found.value == Trie::kNoNode) {
      ++position;
      continue;
    }
    const AddedToken& t = tokens_[found.value];
    std::size_t first = position, end = position + found.size;
    position = end;
    if (t.is_special && !parse_special) continue;
    if (t.is_single_word) {
      const bool after_word = first > 0 && is_word(last_character(text.substr(0, first)).code);
      const bool before_word = end < text.size() && is_word(character_at(text, end).code);
      if (after_word || before_word) continue;
    }
    if (t.strips_left) first = std::max(trailing_space(text.substr(0, first)), begin);
    if (t.strips_right) end += leading_space(text.substr(end));
    if (begin < first) sections.push_back({text.substr(begin, first - begin)});
    sections.push_back({text.substr(first, end - first), t.id});
    begin = end;
  }
  if (begin < text.size()) sections.push_back({text.substr(begin)});
}

}  // namespace tern::text
