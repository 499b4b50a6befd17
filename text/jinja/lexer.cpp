#include "text/jinja/lexer.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cctype>

#include "text/jinja/failure.h"
#include "text/unicode.h"

namespace tern::jinja {
namespace {

constexpr std::string_view kSymbols[] = {"==", "!=", "<=", ">=", "//", "**", "+", "-", "*", "/", "%", "~", "(",
                                         ")",  "[",  "]",  "{",  "}",  "<",  ">", "=", ".", ",", ":", "|"};

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
bool is_name_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || (static_cast<unsigned char>(c) & 0x80u) != 0;
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) {
    source_.reserve(source.size());
    for (std::size_t i = 0; i < source.size(); ++i) {  // line ends become \n
      if (source[i] == '\r') {
        source_ += '\n';
        if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
      } else {
        source_ += source[i];
      }
    }
    if (source_.ends_with('\n')) source_.pop_back();  // keep_trailing_newline is off
  }

  std::vector<Token> read_tokens() {
    while (position_ < source_.size()) read_text();
    add(TokenKind::end, "");
    return std::move(tokens_);
  }

 private:
  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }
  void advance(std::size_t count) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(position_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(position_ + count), '\n'));
    position_ += count;
  }
  bool starts_with(std::string_view s) const { return std::string_view(source_).substr(position_).starts_with(s); }

  /// Text up to the next tag, then the tag.
  void read_text() {
    std::size_t tag = source_.find('{', position_);
    while (tag != std::string::npos &&
           (tag + 1 >= source_.size() || std::string_view("{%#").find(source_[tag + 1]) == std::string_view::npos))
      tag = source_.find('{', tag + 1);
    if (tag == std::string::npos) {
      add(TokenKind::text, source_.substr(position_));
      position_ = source_.size();
      return;
    }
    std::string text = source_.substr(position_, tag - position_);
    const char kind = source_[tag + 1];
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    if (sign == '-') {
      while (!text.empty() && is_space(text.back())) text.pop_back();
    } else if (sign != '+' && kind != '{') {  // lstrip_blocks
      const std::size_t newline = text.rfind('\n');
      const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
      const bool is_line_start = newline != std::string::npos || after_newline_;
      if (is_line_start && std::all_of(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), is_space))
        text.resize(begin);
    }
    if (!text.empty()) add(TokenKind::text, std::move(text));
    advance(tag - position_ + 2 + (sign == '-' || sign == '+' ? 1 : 0));
    if (kind == '#') return skip_comment();
    if (kind == '%' && begins_raw()) return read_raw();
    add(kind == '{' ? TokenKind::begin_output : TokenKind::begin_block, "");
    read_expression(kind == '{');
  }

  /// After a tag: white space that a '-' strips, or the first newline after a block (trim_blocks).
  void after_tag(bool strips, bool trims) {
    after_newline_ = false;
    if (strips) {
      std::size_t count = 0;
      while (position_ + count < source_.size() && is_space(source_[position_ + count])) ++count;
      after_newline_ = count > 0 && source_[position_ + count - 1] == '\n';
      advance(count);
    } else if (trims && starts_with("\n")) {
      advance(1);
      after_newline_ = true;
    }
  }

  void skip_comment() {
    const std::size_t end = source_.find("#}", position_);
    if (end == std::string::npos) fail_template(line_, "a comment has no end: add #}");
    const bool strips = end > position_ && source_[end - 1] == '-',
               keeps_newline = end > position_ && source_[end - 1] == '+';
    advance(end + 2 - position_);
    after_tag(strips, !keeps_newline);
  }

  std::size_t skip_spaces(std::size_t begin) const {
    while (begin < source_.size() && is_space(source_[begin])) ++begin;
    return begin;
  }
  bool begins_raw() const {
    const std::size_t name = skip_spaces(position_);
    if (std::string_view(source_).substr(name, 3) != "raw") return false;
    const std::size_t end = skip_spaces(name + 3);
    const std::string_view after_newlines = std::string_view(source_).substr(end);
    return after_newlines.starts_with("%}") || after_newlines.starts_with("-%}") || after_newlines.starts_with("+%}");
  }
  void read_raw() {
    std::size_t tag_end = source_.find("%}", position_);
    const bool strips = source_[tag_end - 1] == '-';
    advance(tag_end + 2 - position_);
    after_tag(strips, source_[tag_end - 1] != '+');
    for (tag_end = source_.find("{%", position_); tag_end != std::string::npos;
         tag_end = source_.find("{%", tag_end + 2)) {
      std::size_t name = tag_end + 2;
      const bool strips_before = name < source_.size() && source_[name] == '-';
      if (name < source_.size() && (source_[name] == '-' || source_[name] == '+')) ++name;
      name = skip_spaces(name);
      if (std::string_view(source_).substr(name, 6) != "endraw") continue;
      std::size_t end = skip_spaces(name + 6);
      const char sign = end < source_.size() ? source_[end] : '\0';
      if (sign == '-' || sign == '+') ++end;
      if (std::string_view(source_).substr(end, 2) != "%}") continue;
      std::string text = source_.substr(position_, tag_end - position_);
      if (strips_before) {
        while (!text.empty() && is_space(text.back())) text.pop_back();
      } else if (const std::size_t newline = text.rfind('\n'); newline != std::string::npos) {
        if (std::all_of(text.begin() + static_cast<std::ptrdiff_t>(newline), text.end(), is_space))
          text.resize(newline + 1);
      }
      if (!text.empty()) add(TokenKind::text, std::move(text));
      advance(end + 2 - position_);
      after_tag(sign == '-', sign != '+');
      return;
    }
    fail_template(line_, "a raw block has no end: add {% endraw %}");
  }

  void read_expression(bool is_output) {
    const std::string_view close = is_output ? "}}" : "%}";
    std::vector<char> brackets;
    while (true) {
      advance(skip_spaces(position_) - position_);
      if (position_ >= source_.size()) fail_template(line_, fmt::format("a tag has no end: add {}", close));
      const char c = source_[position_];
      if (brackets.empty()) {
        const bool has_sign = c == '-' || c == '+';
        if (std::string_view(source_).substr(position_ + (has_sign ? 1 : 0)).starts_with(close)) {
          advance(has_sign ? 3 : 2);
          add(is_output ? TokenKind::end_output : TokenKind::end_block, "");
          return after_tag(c == '-', !is_output && c != '+');
        }
      }
      if (c == '"' || c == '\'') {
        read_string(c);
      } else if (is_digit(c)) {
        read_number();
      } else if (is_name_start(c)) {
        std::size_t end = position_;
        while (end < source_.size() && (is_name_start(source_[end]) || is_digit(source_[end]))) ++end;
        add(TokenKind::name, source_.substr(position_, end - position_));
        advance(end - position_);
      } else {
        read_symbol(brackets);
      }
    }
  }

  void read_symbol(std::vector<char>& brackets) {
    const auto found = std::ranges::find_if(kSymbols, [&](std::string_view s) { return starts_with(s); });
    if (found == std::end(kSymbols)) fail_template(line_, fmt::format("'{}' has no meaning here", source_[position_]));
    const char c = source_[position_];
    if (found->size() == 1 && (c == '(' || c == '[' || c == '{')) brackets.push_back(c);
    if (found->size() == 1 && (c == ')' || c == ']' || c == '}')) {
      const char open = c == ')' ? '(' : c == ']' ? '[' : '{';
      if (brackets.empty() || brackets.back() != open) fail_template(line_, fmt::format("'{}' closes no bracket", c));
      brackets.pop_back();
    }
    add(TokenKind::symbol, std::string(*found));
    advance(found->size());
  }

  void read_number() {
    std::size_t end = position_;
    bool is_integer = true;
    std::string digits;
    const auto read_digits = [&] {
      while (end < source_.size() && (is_digit(source_[end]) || source_[end] == '_')) {
        if (source_[end] != '_') digits += source_[end];
        ++end;
      }
    };
    read_digits();
    if (end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
      is_integer = false;
      digits += source_[end++];
      read_digits();
    }
    if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      std::size_t exponent = end + 1;
      if (exponent < source_.size() && (source_[exponent] == '-' || source_[exponent] == '+')) ++exponent;
      if (exponent < source_.size() && is_digit(source_[exponent])) {
        is_integer = false;
        digits += source_.substr(end, exponent - end);
        end = exponent;
        read_digits();
      }
    }
    add(is_integer ? TokenKind::integer : TokenKind::number, digits);
    advance(end - position_);
  }

  void read_string(char quote) {
    std::string unescaped;
    std::size_t i = position_ + 1;
    const auto hex = [&](std::size_t count) {
      char32_t code = 0;
      for (std::size_t k = 0; k < count; ++k, ++i) {
        const char c = i < source_.size() ? source_[i] : '\0';
        if (std::isxdigit(static_cast<unsigned char>(c)) == 0)
          fail_template(line_, "a string has a wrong escape sequence");
        code = code * 16 + static_cast<char32_t>(is_digit(c) ? c - '0' : std::tolower(c) - 'a' + 10);
      }
      return code;
    };
    while (i < source_.size() && source_[i] != quote) {
      if (source_[i] != '\\' || i + 1 >= source_.size()) {
        unescaped += source_[i++];
        continue;
      }
      const char c = source_[++i];
      ++i;
      switch (c) {
        case 'n': unescaped += '\n'; break;
        case 't': unescaped += '\t'; break;
        case 'r': unescaped += '\r'; break;
        case 'b': unescaped += '\b'; break;
        case 'f': unescaped += '\f'; break;
        case 'v': unescaped += '\v'; break;
        case 'a': unescaped += '\a'; break;
        case '0': unescaped += '\0'; break;
        case '\n': break;
        case '\\':
        case '\'':
        case '"': unescaped += c; break;
        case 'x':
        case 'u':
        case 'U': {
          char32_t code = hex(c == 'x' ? 2 : c == 'u' ? 4 : 8);
          if (code >= 0xd800 && code < 0xdc00 && source_.compare(i, 2, "\\u") == 0) {
            i += 2;
            const char32_t low = hex(4);
            code = 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff);
          }
          if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
            fail_template(line_, "a string has a wrong character");
          text::append_character(unescaped, code);
          break;
        }
        default: unescaped += '\\'; unescaped += c;
      }
    }
    if (i >= source_.size()) fail_template(line_, "a string has no end");
    add(TokenKind::string, std::move(unescaped));
    advance(i + 1 - position_);
  }

  std::string source_;
  std::size_t position_ = 0;
  int line_ = 1;
  bool after_newline_ = true;  ///< the text begins a line
  std::vector<Token> tokens_;
};

}  // namespace

void fail_template(int line, const std::string& message) {
  fail(ErrorCode::bad_file, fmt::format("line {} of the chat template: {}", line, message));
}

std::vector<Token> read_tokens(std::string_view source) {
  if (source.size() > kMaxTemplate)
    fail(ErrorCode::bad_file,
         fmt::format("the chat template has {} bytes; at most {} are allowed", source.size(), kMaxTemplate));
  if (text::valid_size(source) != source.size()) fail(ErrorCode::bad_file, "the chat template is not UTF-8");
  return Lexer(source).read_tokens();
}

}  // namespace tern::jinja
