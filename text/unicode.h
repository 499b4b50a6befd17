// UTF-8 and properties of Unicode characters, over libutf8proc.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tern::text {

struct Character {
  char32_t code = 0;
  std::size_t size = 1;  ///< bytes
};

/// Character at byte `at`. Requires valid UTF-8.
inline Character character_at(std::string_view s, std::size_t at) {
  const auto byte = [&](std::size_t k) { return static_cast<char32_t>(static_cast<unsigned char>(s[at + k])); };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xe0) return {(lead & 0x1f) << 6 | (byte(1) & 0x3f), 2};
  if (lead < 0xf0) return {(lead & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f), 3};
  return {(lead & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f), 4};
}

/// True for a byte inside a character, after the first.
inline bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0u) == 0x80u;
}

/// Last character of a text that is not empty. Requires valid UTF-8.
Character last_character(std::string_view s);
std::size_t count_characters(std::string_view s);
void append_character(std::string& out, char32_t code);
std::u32string to_characters(std::string_view s);

/// Bytes before the first error; the whole size for valid UTF-8.
std::size_t valid_size(std::string_view s);
/// Bytes of an incomplete character at the end of an otherwise valid text.
std::size_t incomplete_tail(std::string_view s);
/// Replaces each maximal part of an invalid character by U+FFFD, as the Unicode standard recommends (3.9).
std::string replace_invalid(std::string_view s);

bool is_ascii(std::string_view s);
bool is_white_space(char32_t c);      ///< the property White_Space
bool is_punctuation(char32_t c);      ///< ASCII's punctuation and symbols, and categories P*
bool is_numeric(char32_t c);          ///< categories N*
bool is_mark(char32_t c);             ///< categories M*
bool is_nonspacing_mark(char32_t c);  ///< category Mn
bool is_control(char32_t c);          ///< category Cc
bool is_other(char32_t c);            ///< categories Cc, Cf, Co and Cs
bool is_word(char32_t c);             ///< letters, marks, decimal digits, connectors
bool is_letter(char32_t c);           ///< categories L*
bool is_cased(char32_t c);            ///< has an upper-case or lower-case form
bool is_upper(char32_t c);

enum class NormalForm { nfc, nfd, nfkc, nfkd };
std::string normalize(std::string_view s, NormalForm form);
/// Lower case of each character by itself.
std::string lower_case(std::string_view s);
std::string upper_case(std::string_view s);
/// End of the extended grapheme cluster beginning at byte `at`.
std::size_t grapheme_end(std::string_view s, std::size_t at);

}  // namespace tern::text
