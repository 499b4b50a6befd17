// BERT's uncased tokenizer: converts a text to numbers of word pieces, equal to PyPI's `tokenizers`.
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
  /// Reads a vocab.txt: a piece in each line, numbered by line from 0. Pieces inside a word begin with "##". Throws
  /// std::runtime_error if the file cannot be read or lacks [PAD], [UNK], [CLS], [SEP] or [MASK].
  explicit BertTokenizer(const std::string& path);

  /// [CLS], the pieces of `text`, [SEP]: at most `limit` numbers (at least 2), dropping further pieces. `text` is
  /// UTF-8; invalid bytes are skipped.
  std::vector<std::int64_t> encode(std::string_view text, std::size_t limit) const;

  /// The number of [PAD], used to fill a batch.
  std::int64_t padding() const { return padding_; }

 private:
  void add_words(std::string_view text, std::vector<std::int64_t>& numbers) const;
  void add_pieces(std::u32string_view word, std::vector<std::int64_t>& numbers) const;
  std::int64_t number(const std::string& piece) const;

  std::unordered_map<std::string, std::int64_t> numbers_;
  std::int64_t padding_ = 0, unknown_ = 0, begin_ = 0, end_ = 0;
};
