#include "tests/gpu/ptx/tokens.h"

#include <cctype>

#include "tests/gpu/ptx/error.h"

namespace tern::emulated {
namespace {

bool starts_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%';
}
bool continues_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$';
}

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    while (true) {
      const std::size_t before = position_;
      skip_space();
      const bool spaced = position_ != before;
      if (position_ == text_.size()) break;
      const std::size_t start = position_;
      const TokenKind kind = next();
      tokens_.push_back({kind, text_.substr(start, position_ - start), line_, spaced});
    }
    tokens_.push_back({TokenKind::kEnd, "", line_, true});
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0'; }

  void skip_space() {
    while (position_ < text_.size()) {
      if (peek() == '/' && peek(1) == '/') {
        while (position_ < text_.size() && peek() != '\n') ++position_;
      } else if (peek() == '/' && peek(1) == '*') {
        const std::size_t end = text_.find("*/", position_ + 2);
        if (end == std::string_view::npos) throw TranslationError(line_, "a comment does not end");
        for (; position_ < end + 2; ++position_) line_ += text_[position_] == '\n';
      } else if (std::isspace(static_cast<unsigned char>(peek())) ||
                 (peek() == '\0' && position_ + 1 == text_.size())) {
        line_ += peek() == '\n';  // a last zero is NVRTC's end of the string
        ++position_;
      } else {
        return;
      }
    }
  }

  TokenKind next() {
    if (starts_name(peek())) {
      ++position_;
      while (continues_name(peek())) ++position_;
      return TokenKind::kName;
    }
    if (std::isdigit(static_cast<unsigned char>(peek()))) {
      while (std::isalnum(static_cast<unsigned char>(peek())) ||
             (peek() == '.' && std::isdigit(static_cast<unsigned char>(peek(1))))) {
        ++position_;
      }
      return TokenKind::kNumber;
    }
    if (peek() == '.' && (continues_name(peek(1)))) {
      ++position_;
      while (continues_name(peek()) || (peek() == ':' && peek(1) == ':' && continues_name(peek(2)))) {
        position_ += peek() == ':' ? 2 : 1;
      }
      return TokenKind::kDotName;
    }
    if (peek() == '"') {
      const std::size_t end = text_.find('"', position_ + 1);
      if (end == std::string_view::npos) throw TranslationError(line_, "a string does not end");
      position_ = end + 1;
      return TokenKind::kString;
    }
    ++position_;
    return TokenKind::kSymbol;
  }

  std::string_view text_;
  std::size_t position_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view ptx) {
  return Tokenizer(ptx).run();
}

}  // namespace tern::emulated
