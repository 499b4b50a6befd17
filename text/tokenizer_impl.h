// Interface of all kinds of tokenizers behind tern::Tokenizer.
#pragma once

#include <tern/text.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tern {

/// Immutable; threads may share it.
class TokenizerImpl {
 public:
  virtual ~TokenizerImpl() = default;
  /// `text` is valid UTF-8.
  virtual void encode(std::string_view text, const EncodeOptions& options, std::vector<std::int64_t>& ids) const = 0;
  /// Ids are not negative.
  virtual std::string decode(std::span<const std::int64_t> ids, bool skip_special) const = 0;
  virtual std::int64_t size() const = 0;
  virtual std::optional<std::int64_t> find(std::string_view token) const = 0;
  virtual std::optional<TokenInfo> token(std::int64_t id) const = 0;
  virtual std::vector<TokenInfo> special_tokens() const = 0;

  /// Bytes of a token where tokens hold parts of characters, else its text; empty for ids without a token.
  virtual std::string bytes_of(std::int64_t id) const = 0;

  std::optional<std::int64_t> bos, eos;
};

namespace text {

/// Tokenizer of a tokenizer.json.
std::shared_ptr<TokenizerImpl> read_json_tokenizer(std::string_view text);
/// Tokenizer of a SentencePiece model. `adds_bos`, `adds_eos`: tokens that encode() adds; empty: bos if the model has
/// one.
std::shared_ptr<TokenizerImpl> read_sentencepiece(std::string_view bytes, std::optional<bool> adds_bos,
                                                  std::optional<bool> adds_eos);

}  // namespace text
}  // namespace tern
