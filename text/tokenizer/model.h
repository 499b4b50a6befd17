// Models of tokenizers: the last step of encoding, from a word to ids.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/tokenizer/vocabulary.h"

namespace tern::text {

using Json = nlohmann::json;

/// A model as a tokenizer.json spells it: large lists apart from the other fields.
struct ModelFields {
  Json fields;
  std::vector<std::pair<std::string, std::uint64_t>> vocabulary;  ///< tokens of BPE, WordPiece, WordLevel
  std::vector<std::pair<std::string, double>> scores;             ///< tokens of Unigram, by id
  std::vector<std::pair<std::string, std::string>> merges;        ///< pairs of BPE, by rank
};

/// Memory of one encode() call for its words.
class ModelScratch {
 public:
  virtual ~ModelScratch() = default;
};

/// Immutable; threads may share it.
class TokenModel {
 public:
  virtual ~TokenModel() = default;
  /// Appends the ids of a word, valid UTF-8. `scratch` comes from make_scratch(). The words of one call of encode()
  /// stay in memory until its end.
  virtual void encode(std::string_view word, ModelScratch* scratch, std::vector<TokenId>& ids) const = 0;
  virtual std::unique_ptr<ModelScratch> make_scratch() const { return nullptr; }
  const Vocabulary& vocabulary() const { return vocabulary_; }

 protected:
  Vocabulary vocabulary_;
};

std::unique_ptr<TokenModel> make_bpe(ModelFields fields);
std::unique_ptr<TokenModel> make_unigram(ModelFields fields);
std::unique_ptr<TokenModel> make_word_piece(ModelFields fields);
std::unique_ptr<TokenModel> make_word_level(ModelFields fields);
/// Chooses by the field "type"; files of old versions lack it.
std::unique_ptr<TokenModel> make_model(ModelFields fields);

}  // namespace tern::text
