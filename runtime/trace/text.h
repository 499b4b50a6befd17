// Pieces of JSON, appended to a text.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace tern {

/// For between quotes. Bytes that are not UTF-8 become '?', so that every reader takes the file.
void append_escaped(std::string& out, std::string_view text);
std::string escaped(std::string_view text);
/// The shortest text that reads as this number; null where there is none.
void append_number(std::string& out, double value);

template <std::integral T>
void append_number(std::string& out, T value) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, end);
}

/// Microseconds with three decimals.
inline void append_microseconds(std::string& out, std::uint64_t nanoseconds) {
  append_number(out, nanoseconds / 1000);
  const auto rest = static_cast<unsigned>(nanoseconds % 1000);
  const char decimals[] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                           static_cast<char>('0' + rest % 10)};
  out.append(decimals, sizeof decimals);
}

}  // namespace tern
