// BERT's uncased tokenizer (WordPiece): converts a text to token IDs, equal to those of PyPI's `tokenizers`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// Immutable after construction: any number of threads may share a tokenizer.
class BertTokenizer {
 public:
  /// Reads a vocab.txt: a token in each line, whose number from 0 is the ID. Tokens inside a word begin with "##".
  /// Throws std::runtime_error if the file cannot be read or lacks [PAD], [UNK], [CLS], [SEP] or [MASK].
  explicit BertTokenizer(const std::string& path);

  /// Returns the IDs of [CLS], the tokens of `text`, and [SEP]: at most `limit` IDs (at least 2), dropping the last
  /// tokens of `text`. `text` is UTF-8; invalid bytes are skipped.
  std::vector<std::int64_t> encode(std::string_view text, std::size_t limit) const;

  /// The ID of [PAD], which fills up the rows of a batch.
  std::int64_t padding() const { return padding_id_; }

 private:
  void add_words(std::string_view text, std::vector<std::int64_t>& ids) const;
  void add_pieces(std::u32string_view word, std::vector<std::int64_t>& ids) const;
  std::int64_t token_id(const std::string& token) const;

  std::unordered_map<std::string, std::int64_t> ids_;
  std::int64_t padding_id_ = 0, unknown_id_ = 0, begin_id_ = 0, end_id_ = 0;
};
