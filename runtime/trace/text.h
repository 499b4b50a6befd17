// Appends JSON to a string.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace tern {

/// Escapes text for JSON strings. Replaces invalid UTF-8 by '?', so that every reader accepts the file.
void append_escaped(std::string& out, std::string_view text);
std::string escaped(std::string_view text);
void append(std::string& out, std::initializer_list<std::string_view> pieces);
/// Appends the shortest text that parses as this number; null for NaN and infinities.
void append_number(std::string& out, double value);
void append_signed(std::string& out, std::int64_t value);
void append_unsigned(std::string& out, std::uint64_t value);

template <std::integral T>
void append_number(std::string& out, T value) {
  if constexpr (std::signed_integral<T>) {
    append_signed(out, value);
  } else {
    append_unsigned(out, value);
  }
}

/// Appends microseconds with three decimals.
void append_microseconds(std::string& out, std::uint64_t nanoseconds);

}  // namespace tern
