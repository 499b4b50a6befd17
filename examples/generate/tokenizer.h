// Text to token ids and back.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual std::vector<std::int64_t> encode(const std::string& text) const = 0;
  virtual std::string decode(std::span<const std::int64_t> tokens) const = 0;
};

/// A SentencePiece model (`tokenizer.model`). Throws std::runtime_error if the file is none, or if this program was
/// built without the library.
std::unique_ptr<Tokenizer> sentencepiece_tokenizer(const std::string& path);
/// Token ids are the bytes of the text.
std::unique_ptr<Tokenizer> byte_tokenizer();
/// Text is token ids, with commas or spaces between: for models whose tokenizer another program runs.
std::unique_ptr<Tokenizer> id_tokenizer();

/// Gives the text of an answer as it grows: whole characters only, although a token may end inside of one.
class TextStream {
 public:
  /// `context`: tokens before the answer, which decide whether it begins with a space.
  TextStream(const Tokenizer& tokenizer, std::span<const std::int64_t> context);
  /// The text that the token adds; empty while a character is incomplete.
  std::string add(std::int64_t token);
  /// What add() still keeps, for an answer that ends there.
  std::string rest();

 private:
  std::string show(const std::string& text);

  const Tokenizer& tokenizer_;
  std::vector<std::int64_t> tokens_;  ///< the last few, and those since the last whole character
  std::string shown_;                 ///< their text up to here
};
