#include "bert_tokenizer.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <stdexcept>

#include "bert_text.h"

namespace {

constexpr std::size_t kMaxWordLength = 100;  // characters; longer words are unknown as a whole

/// Tokens that a text may contain literally.
constexpr std::array<std::string_view, 5> kSpecialTokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

}  // namespace

BertTokenizer::BertTokenizer(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read the vocabulary " + path);
  std::int64_t id = 0;
  for (std::string token; std::getline(file, token); ++id) {
    if (!token.empty() && token.back() == '\r') token.pop_back();
    ids_.insert_or_assign(token, id);
  }
  for (const std::string_view special : kSpecialTokens) {
    if (!ids_.contains(std::string(special))) {
      throw std::runtime_error(path + " is no vocabulary of BERT: it has no line " + std::string(special));
    }
  }
  padding_id_ = token_id("[PAD]");
  unknown_id_ = token_id("[UNK]");
  begin_id_ = token_id("[CLS]");
  end_id_ = token_id("[SEP]");
}

std::int64_t BertTokenizer::token_id(const std::string& token) const {
  return ids_.at(token);
}

std::vector<std::int64_t> BertTokenizer::encode(std::string_view text, std::size_t limit) const {
  std::vector<std::int64_t> ids = {begin_id_};
  std::size_t encoded_size = 0;
  for (std::size_t i = text.find('['); i != text.npos; i = text.find('[', i + 1)) {
    const auto special = std::find_if(kSpecialTokens.begin(), kSpecialTokens.end(),
                                      [&](std::string_view name) { return text.substr(i).starts_with(name); });
    if (special == kSpecialTokens.end()) continue;
    add_words(text.substr(encoded_size, i - encoded_size), ids);
    ids.push_back(token_id(std::string(*special)));
    encoded_size = i + special->size();
    i = encoded_size - 1;
  }
  add_words(text.substr(encoded_size), ids);
  ids.resize(std::min(ids.size(), std::max<std::size_t>(limit, 2) - 1));
  ids.push_back(end_id_);
  return ids;
}

/// Appends the tokens of each word. Spaces separate words; each punctuation mark is a word.
void BertTokenizer::add_words(std::string_view text, std::vector<std::int64_t>& ids) const {
  const std::u32string normalized = normalize(text);
  const std::u32string_view characters = normalized;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= characters.size(); ++i) {
    const bool is_mark = i < characters.size() && is_punctuation(characters[i]);
    if (i < characters.size() && characters[i] != U' ' && !is_mark) continue;
    if (i > begin) add_pieces(characters.substr(begin, i - begin), ids);
    if (is_mark) add_pieces(characters.substr(i, 1), ids);
    begin = i + 1;
  }
}

/// Appends a word's tokens (WordPiece): the longest token that starts the word, then the longest continuation ("##"),
/// and so on. A word without such a split becomes [UNK].
void BertTokenizer::add_pieces(std::u32string_view word, std::vector<std::int64_t>& ids) const {
  if (word.size() > kMaxWordLength) return ids.push_back(unknown_id_);
  const std::size_t size_before = ids.size();
  for (std::size_t begin = 0; begin < word.size();) {
    std::size_t end = word.size();
    for (; end > begin; --end) {
      const auto found = ids_.find((begin > 0 ? "##" : "") + to_utf8(word.substr(begin, end - begin)));
      if (found == ids_.end()) continue;
      ids.push_back(found->second);
      break;
    }
    if (end == begin) {
      ids.resize(size_before);
      return ids.push_back(unknown_id_);
    }
    begin = end;
  }
}
