// tern::TextStream.
#include <fmt/format.h>
#include <tern/error.h>
#include <tern/text.h>

#include <algorithm>

#include "text/tokenizer_impl.h"
#include "text/unicode.h"

namespace tern {
namespace {

constexpr std::size_t kContext = 8;          ///< tokens decoded again, before the new ones
constexpr std::size_t kCharacterTokens = 4;  ///< most tokens of a character: one for each byte

}  // namespace

/// Decodes a window of the last tokens twice, with and without the new ones. The difference is the new text.
class TextStreamImpl {
 public:
  TextStreamImpl(Tokenizer tokenizer, std::span<const std::int64_t> context, bool skip_special)
      : tokenizer_(std::move(tokenizer)), skip_special_(skip_special) {
    const auto last = context.last(std::min(context.size(), kContext));
    window_.assign(last.begin(), last.end());
    shown_text_ = tokenizer_.decode(window_, skip_special_);
  }

  std::string add(std::int64_t token) {
    if (token < 0) fail(ErrorCode::invalid_argument, fmt::format("token id {} is negative", token));
    if (skip_special_) {  // a window of tokens without text would lose the next token's space
      const std::optional<TokenInfo> info = tokenizer_.token(token);
      if (!info || info->is_special) return {};
    }
    window_.push_back(token);
    return take_new_text(false);
  }
  std::string finish() { return take_new_text(true); }

 private:
  std::string take_new_text(bool is_end) {
    if (!is_end && ends_inside_character()) return {};
    const std::string text = tokenizer_.decode(window_, skip_special_);
    std::string new_text = text.size() > shown_text_.size() ? text.substr(shown_text_.size()) : std::string();
    shown_text_ = text;
    // Keeps some shown tokens, as they decide about spaces; the window begins with a whole character.
    std::size_t drop = window_.size() > 2 * kContext ? window_.size() - kContext : 0;
    while (drop > 0 && begins_inside_character(drop)) --drop;
    if (drop > 0) {
      window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(drop));
      shown_text_ = tokenizer_.decode(window_, skip_special_);
    }
    return new_text;
  }
  bool ends_inside_character() const {
    std::string bytes;
    for (std::size_t i = window_.size() - std::min(window_.size(), kCharacterTokens); i < window_.size(); ++i)
      bytes += tokenizer_.impl()->bytes_of(window_[i]);
    return text::incomplete_tail(bytes) > 0;
  }
  bool begins_inside_character(std::size_t token_index) const {
    const std::string bytes = tokenizer_.impl()->bytes_of(window_[token_index]);
    return !bytes.empty() && text::is_continuation(bytes[0]);
  }

  Tokenizer tokenizer_;
  bool skip_special_;
  std::vector<std::int64_t> window_;
  std::string shown_text_;  ///< text given out, of the window
};

TextStream::TextStream(Tokenizer tokenizer, std::span<const std::int64_t> context, bool skip_special)
    : impl_(std::make_unique<TextStreamImpl>(std::move(tokenizer), context, skip_special)) {}
TextStream::~TextStream() = default;
TextStream::TextStream(TextStream&&) noexcept = default;
TextStream& TextStream::operator=(TextStream&&) noexcept = default;

std::string TextStream::add(std::int64_t token) {
  return impl_->add(token);
}
std::string TextStream::finish() {
  return impl_->finish();
}

}  // namespace tern
