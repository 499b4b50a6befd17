// Models over whole words: WordPiece takes the longest token from left to right, WordLevel the word itself.
#include <fmt/format.h>
#include <tern/error.h>

#include "text/tokenizer/fields.h"
#include "text/tokenizer/model.h"
#include "text/tokenizer/trie.h"
#include "text/unicode.h"

namespace tern::text {
namespace {

TokenId unknown_id(const Vocabulary& vocabulary, const std::string& token) {
  const TokenId id = vocabulary.find(token);
  if (id == kNoToken)
    fail(ErrorCode::bad_file, fmt::format("the tokenizer's unk_token '{}' is not in its vocabulary", token));
  return id;
}

class WordPiece : public TokenModel {
 public:
  explicit WordPiece(ModelFields model_fields)
      : unknown_(text_field(model_fields.fields, "unk_token", "[UNK]")),
        max_characters_(integer_field(model_fields.fields, "max_input_chars_per_word", 100)) {
    for (auto& [token, id] : model_fields.vocabulary) vocabulary_.add(std::move(token), id);
    std::vector<Trie::Entry> entries;
    for (std::size_t id = 0; id < vocabulary_.size(); ++id) {
      if (const std::string* token = vocabulary_.token(id)) entries.emplace_back(*token, vocabulary_.find(*token));
    }
    trie_ = Trie(std::move(entries));
    for (const char c : text_field(model_fields.fields, "continuing_subword_prefix", "##")) {
      if (continuing_ != Trie::kNoNode) continuing_ = trie_.child(continuing_, static_cast<unsigned char>(c));
    }
  }

  void encode(std::string_view word, ModelScratch*, std::vector<TokenId>& ids) const override {
    const std::size_t old_size = ids.size();
    bool is_known = static_cast<std::int64_t>(count_characters(word)) <= max_characters_;
    for (std::size_t byte_index = 0; is_known && byte_index < word.size();) {
      const std::uint32_t first_node = byte_index == 0 ? Trie::root() : continuing_;
      Trie::Found found;
      if (first_node != Trie::kNoNode) found = longest(word.substr(byte_index), first_node);
      is_known = found.value != Trie::kNoNode;
      ids.push_back(found.value);
      byte_index += found.size;
    }
    if (is_known) return;
    ids.resize(old_size);
    ids.push_back(unknown_id(vocabulary_, unknown_));
  }

 private:
  /// Longest token that ends with a whole character.
  Trie::Found longest(std::string_view s, std::uint32_t first_node) const {
    Trie::Found found;
    std::uint32_t node = first_node;
    for (std::size_t i = 0; i < s.size(); ++i) {
      node = trie_.child(node, static_cast<unsigned char>(s[i]));
      if (node == Trie::kNoNode) break;
      const bool is_end = i + 1 == s.size() || !is_continuation(s[i + 1]);
      if (const std::uint32_t v = trie_.value(node); v != Trie::kNoNode && is_end) found = {v, i + 1};
    }
    return found;
  }

  std::string unknown_;
  std::int64_t max_characters_;
  Trie trie_;
  std::uint32_t continuing_ = Trie::root();  ///< node after the prefix of continuing tokens
};

class WordLevel : public TokenModel {
 public:
  explicit WordLevel(ModelFields model_fields) : unknown_(text_field(model_fields.fields, "unk_token", "<unk>")) {
    for (auto& [token, id] : model_fields.vocabulary) vocabulary_.add(std::move(token), id);
  }
  void encode(std::string_view word, ModelScratch*, std::vector<TokenId>& ids) const override {
    const TokenId id = vocabulary_.find(word);
    ids.push_back(id != kNoToken ? id : unknown_id(vocabulary_, unknown_));
  }

 private:
  std::string unknown_;
};

}  // namespace

std::unique_ptr<TokenModel> make_word_piece(ModelFields fields) {
  return std::make_unique<WordPiece>(std::move(fields));
}

std::unique_ptr<TokenModel> make_word_level(ModelFields fields) {
  return std::make_unique<WordLevel>(std::move(fields));
}

std::unique_ptr<TokenModel> make_model(ModelFields fields) {
  std::string type = text_field(fields.fields, "type");
  if (type.empty()) {  // files before version 0.9 of tokenizers
    type = !fields.scores.empty()                                       ? "Unigram"
           : fields.fields.contains("max_input_chars_per_word")         ? "WordPiece"
           : !fields.merges.empty() || fields.fields.contains("merges") ? "BPE"
                                                                        : "WordLevel";
  }
  if (type == "BPE") return make_bpe(std::move(fields));
  if (type == "Unigram") return make_unigram(std::move(fields));
  if (type == "WordPiece") return make_word_piece(std::move(fields));
  if (type == "WordLevel") return make_word_level(std::move(fields));
  fail(ErrorCode::unsupported,
       fmt::format("the tokenizer has a model of type '{}'; known are BPE, Unigram, WordPiece and "
                   "WordLevel",
                   type));
}

}  // namespace tern::text
