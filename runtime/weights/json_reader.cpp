#include "runtime/weights/json_reader.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <charconv>

#include "loader/utf8.h"

namespace tern {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::optional<std::uint64_t> integer_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

void append_utf8(std::uint32_t code, std::string& to) {
  const auto put = [&](std::uint32_t byte) { to += static_cast<char>(byte); };
  const auto rest = [&](int shift) { put(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | (code >> 6)), rest(0);
  } else if (code < 0x10000) {
    put(0xe0 | (code >> 12)), rest(6), rest(0);
  } else {
    put(0xf0 | (code >> 18)), rest(12), rest(6), rest(0);
  }
}

}  // namespace

void JsonReader::bad(std::string_view message) const {
  fail(ErrorCode::bad_file,
       fmt::format("{}: the header is not valid JSON at byte {}: {}", file_, offset_ + position_, message));
}

char JsonReader::peek() {
  while (position_ < text_.size() && std::string_view(" \n\r\t").find(text_[position_]) != std::string_view::npos)
    ++position_;
  return position_ < text_.size() ? text_[position_] : '\0';
}

void JsonReader::expect(char c) {
  if (peek() != c) bad(std::string("expected '") + c + "'");
  ++position_;
}

bool JsonReader::next(char close, bool& first) {
  if (peek() == close) {
    ++position_;
    return false;
  }
  if (!first) expect(',');
  first = false;
  return true;
}

void JsonReader::end() {
  peek();
  if (position_ != text_.size()) bad("unexpected text after the end");
}

std::string JsonReader::key() {
  std::string name = string();
  expect(':');
  return name;
}

std::string JsonReader::string() {
  expect('"');
  const std::size_t begin = position_;
  std::string text;
  for (;;) {
    if (position_ == text_.size()) bad("a string is not closed");
    const char c = text_[position_];
    if (static_cast<unsigned char>(c) < 0x20) bad("a control character in a string");
    ++position_;
    if (c == '"') break;
    if (c == '\\') {
      escape(text);
    } else {
      text += c;
    }
  }
  if (!is_valid_text(text_.substr(begin, position_ - begin))) bad("a string is not UTF-8");
  return text;
}

/// Decodes the escape sequence after a backslash.
void JsonReader::escape(std::string& to) {
  constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  const char c = position_ < text_.size() ? text_[position_] : '\0';
  const std::size_t found = kNames.find(c);
  if (c != 'u' && found == std::string_view::npos) bad("unknown escape sequence");
  ++position_;
  if (c == 'u') {
    append_utf8(code_point(), to);
  } else {
    to += kMeanings[found];
  }
}

/// Characters beyond U+FFFF consist of two escape sequences, a surrogate pair.
std::uint32_t JsonReader::code_point() {
  const std::uint32_t first = four_digits();
  if (first < 0xd800 || first > 0xdfff) return first;
  if (first > 0xdbff || text_.substr(position_, 2) != "\\u") bad("half of a surrogate pair");
  position_ += 2;
  const std::uint32_t second = four_digits();
  if (second < 0xdc00 || second > 0xdfff) bad("half of a surrogate pair");
  return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
}

std::uint32_t JsonReader::four_digits() {
  const std::string_view digits = text_.substr(position_, 4);
  std::uint32_t code = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  if (digits.size() != 4 || error != std::errc() || end != digits.data() + 4) bad("\\u needs four hexadecimal digits");
  position_ += 4;
  return code;
}

/// Returns the text of the number at the current position.
std::string_view JsonReader::number() const {
  std::size_t i = position_;
  const auto at = [&] { return i < text_.size() ? text_[i] : '\0'; };
  const auto digits = [&] {
    if (!is_digit(at())) bad("a number has no digits");
    while (is_digit(at())) ++i;
  };
  if (at() == '-') ++i;
  const std::size_t whole = i;
  digits();
  if (text_[whole] == '0' && i > whole + 1) bad("a number starts with 0");
  if (at() == '.') ++i, digits();
  if (at() == 'e' || at() == 'E') {
    ++i;
    if (at() == '+' || at() == '-') ++i;
    digits();
  }
  return text_.substr(position_, i - position_);
}

std::optional<std::uint64_t> JsonReader::integer() {
  if (!is_digit(peek())) return std::nullopt;
  const std::string_view text = number();
  const std::optional<std::uint64_t> value = integer_of(text);
  if (value) position_ += text.size();
  return value;
}

std::string JsonReader::kind() {
  const char c = peek();
  const std::string_view rest = text_.substr(position_);
  if (c == '{') return "an object";
  if (c == '[') return "an array";
  if (c == '"') return "a string";
  if (rest.starts_with("true") || rest.starts_with("false")) return "true or false";
  if (rest.starts_with("null")) return "null";
  if (c != '-' && !is_digit(c)) bad("expected a value");
  const std::string_view text = number();
  const std::string shown = text.size() > 40 ? std::string(text.substr(0, 40)) + "..." : std::string(text);
  if (text.find_first_of(".eE") != std::string_view::npos) return "the number " + shown;
  if (c == '-') return "the negative number " + shown;
  return integer_of(text) ? "a number" : "the number " + shown;
}

}  // namespace tern
