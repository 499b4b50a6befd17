// tern::TextStream.
#include <fmt/format.h>
#include <tern/error.h>
#include <tern/text.h>

#include <algorithm>

#include "text/tokenizer_impl.h"
#include "text/unicode.h"

namespace tern {
namespace {

constexpr std::size_t kContext = 8;    ///< tokens decoded again, before the new ones
constexpr std::size_t kMostHeld = 32;  ///< tokens until an incomplete character is shown as it is
constexpr std::string_view kReplacement = "\uFFFD";

}  // namespace

/// Decodes a window of the last tokens twice, with and without the new ones. The difference is the new text.
class TextStreamImpl {
 public:
  TextStreamImpl(Tokenizer tokenizer, std::span<const std::int64_t> context, bool skip_special)
      : tokenizer_(std::move(tokenizer)), skip_special_(skip_special) {
    const auto last = context.last(std::min(context.size(), kContext));
    window_.assign(last.begin(), last.end());
    shown_count_ = window_.size();
    shown_ = tokenizer_.decode(window_, skip_special_);
  }

  std::string add(std::int64_t token) {
    if (token < 0) fail(ErrorCode::invalid_argument, fmt::format("token id {} is negative", token));
    if (skip_special_) {  // a window of tokens without text would lose the next token's space
      const std::optional<TokenInfo> info = tokenizer_.token(token);
      if (!info || info->is_special) return {};
    }
    window_.push_back(token);
    return show(false);
  }
  std::string finish() { return show(true); }

 private:
  std::string show(bool is_end) {
    const std::string text = tokenizer_.decode(window_, skip_special_);
    const bool is_cut = text.ends_with(kReplacement);
    if (is_cut && !is_end && window_.size() - shown_count_ < kMostHeld) return {};
    std::string added = text.size() > shown_.size() ? text.substr(shown_.size()) : std::string();
    // Keeps some shown tokens, as they decide about spaces; never a part of an incomplete character.
    if (window_.size() > kContext) {
      std::size_t drop = window_.size() - kContext;
      while (drop > 0 && begins_inside_character(drop)) --drop;
      window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(drop));
      shown_ = tokenizer_.decode(window_, skip_special_);
    } else {
      shown_ = text;
    }
    shown_count_ = window_.size();
    return added;
  }
  /// True if the tokens from this one on begin with a part of a character.
  bool begins_inside_character(std::size_t at) const {
    return tokenizer_.decode(std::span(window_).subspan(at), skip_special_).starts_with(kReplacement);
  }

  Tokenizer tokenizer_;
  bool skip_special_;
  std::vector<std::int64_t> window_;
  std::size_t shown_count_ = 0;  ///< tokens of the window whose text was given out
  std::string shown_;            ///< their text
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
