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

/// A SentencePiece model (`tokenizer.model`). Throws std::runtime_error for other files, or if this program was built
/// without the library.
std::unique_ptr<Tokenizer> sentencepiece_tokenizer(const std::string& path);
/// Token ids are the bytes of the text.
std::unique_ptr<Tokenizer> byte_tokenizer();
/// Text consists of token ids, separated by commas or spaces: for models with an external tokenizer.
std::unique_ptr<Tokenizer> id_tokenizer();

/// Converts an answer to text token by token: whole characters only, even if a token ends inside a character.
class TextStream {
 public:
  /// `context`: tokens before the answer; they decide about a leading space.
  TextStream(const Tokenizer& tokenizer, std::span<const std::int64_t> context);
  /// The text added by the token; empty while a character is incomplete.
  std::string add(std::int64_t token);
  /// The text still kept by add(), for the end of an answer.
  std::string pending_text();

 private:
  std::string take_new_text(const std::string& text);

  const Tokenizer& tokenizer_;
  std::vector<std::int64_t> tokens_;  ///< the last few tokens, and the tokens since the last whole character
  std::string shown_;                 ///< text shown so far
};
