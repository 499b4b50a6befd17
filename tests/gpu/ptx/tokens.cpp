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
      const std::size_t before = at_;
      skip_space();
      const bool spaced = at_ != before;
      if (at_ == text_.size()) break;
      const std::size_t start = at_;
      const TokenKind kind = next();
      tokens_.push_back({kind, text_.substr(start, at_ - start), line_, spaced});
    }
    tokens_.push_back({TokenKind::kEnd, "", line_, true});
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void skip_space() {
    while (at_ < text_.size()) {
      if (peek() == '/' && peek(1) == '/') {
        while (at_ < text_.size() && peek() != '\n') ++at_;
      } else if (peek() == '/' && peek(1) == '*') {
        const std::size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) throw TranslationError(line_, "a comment does not end");
        for (; at_ < end + 2; ++at_) line_ += text_[at_] == '\n';
      } else if (std::isspace(static_cast<unsigned char>(peek())) || (peek() == '\0' && at_ + 1 == text_.size())) {
        line_ += peek() == '\n';  // a last zero is NVRTC's end of the string
        ++at_;
      } else {
        return;
      }
    }
  }

  TokenKind next() {
    if (starts_name(peek())) {
      ++at_;
      while (continues_name(peek())) ++at_;
      return TokenKind::kName;
    }
    if (std::isdigit(static_cast<unsigned char>(peek()))) {
      while (std::isalnum(static_cast<unsigned char>(peek())) ||
             (peek() == '.' && std::isdigit(static_cast<unsigned char>(peek(1))))) {
        ++at_;
      }
      return TokenKind::kNumber;
    }
    if (peek() == '.' && (continues_name(peek(1)))) {
      ++at_;
      while (continues_name(peek()) || (peek() == ':' && peek(1) == ':' && continues_name(peek(2)))) {
        at_ += peek() == ':' ? 2 : 1;
      }
      return TokenKind::kDotName;
    }
    if (peek() == '"') {
      const std::size_t end = text_.find('"', at_ + 1);
      if (end == std::string_view::npos) throw TranslationError(line_, "a string does not end");
      at_ = end + 1;
      return TokenKind::kString;
    }
    ++at_;
    return TokenKind::kSymbol;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view ptx) {
  return Tokenizer(ptx).run();
}

}  // namespace tern::emulated
