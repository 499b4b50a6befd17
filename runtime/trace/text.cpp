#include "runtime/trace/text.h"

#include <charconv>
#include <cmath>

namespace tern {
namespace {

/// Length of the UTF-8 sequence at the beginning; 0 if invalid (RFC 3629).
std::size_t sequence(std::string_view s) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char first = at(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length == 0 || s.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  const bool wrong = (first == 0xe0 && at(1) < 0xa0) || (first == 0xed && at(1) > 0x9f) ||
                     (first == 0xf0 && at(1) < 0x90) || (first == 0xf4 && at(1) > 0x8f);
  return wrong ? 0 : length;
}

}  // namespace

void append_escaped(std::string& out, std::string_view text) {
  constexpr const char* kHex = "0123456789abcdef";
  while (!text.empty()) {
    const char c = text.front();
    std::size_t length = sequence(text);
    if (length == 0) {
      out += '?';
      length = 1;
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
}

void append(std::string& out, std::initializer_list<std::string_view> pieces) {
  for (const std::string_view piece : pieces) out += piece;
}

std::string escaped(std::string_view text) {
  std::string out;
  append_escaped(out, text);
  return out;
}

void append_number(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, end);
}

void append_unsigned(std::string& out, std::uint64_t value) {
  char digits[20];
  char* first = digits + sizeof digits;
  do {
    *--first = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value > 0);
  out.append(first, digits + sizeof digits);
}

void append_signed(std::string& out, std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  if (value < 0) out += '-';
  append_unsigned(out, value < 0 ? 0 - bits : bits);
}

void append_microseconds(std::string& out, std::uint64_t nanoseconds) {
  append_unsigned(out, nanoseconds / 1000);
  const auto rest = static_cast<unsigned>(nanoseconds % 1000);
  const char decimals[] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                           static_cast<char>('0' + rest % 10)};
  out.append(decimals, sizeof decimals);
}

}  // namespace tern
