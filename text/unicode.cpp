#include "text/unicode.h"

#include <tern/error.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace tern::text {
namespace {

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

/// Bytes of the valid character at `at`; 0 and the bytes of its maximal valid beginning in `part` for an invalid one.
std::size_t checked_size(std::string_view s, std::size_t byte_index, std::size_t& valid_bytes) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(s[byte_index + k]); };
  const unsigned char lead = byte(0);
  valid_bytes = 1;
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  unsigned char low = 0x80, high = 0xbf;  // bounds of the second byte
  if (lead == 0xe0) low = 0xa0;
  if (lead == 0xed) high = 0x9f;
  if (lead == 0xf0) low = 0x90;
  if (lead == 0xf4) high = 0x8f;
  for (; valid_bytes < size; ++valid_bytes) {
    if (byte_index + valid_bytes >= s.size() || byte(valid_bytes) < low || byte(valid_bytes) > high) return 0;
    low = 0x80, high = 0xbf;
  }
  return size;
}

}  // namespace

Character last_character(std::string_view s) {
  std::size_t byte_index = s.size() - 1;
  while (byte_index > 0 && is_continuation(s[byte_index])) --byte_index;
  return character_at(s, byte_index);
}

std::size_t count_characters(std::string_view s) {
  return s.size() - static_cast<std::size_t>(std::ranges::count_if(s, is_continuation));
}

void append_character(std::string& text_out, char32_t code) {
  const auto add = [&](char32_t byte) { text_out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0 | code >> 6), add(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12), add(0x80 | (code >> 6 & 0x3f)), add(0x80 | (code & 0x3f));
  } else {
    add(0xf0 | code >> 18), add(0x80 | (code >> 12 & 0x3f)), add(0x80 | (code >> 6 & 0x3f)), add(0x80 | (code & 0x3f));
  }
}

std::u32string to_characters(std::string_view s) {
  std::u32string characters;
  for (std::size_t byte_index = 0; byte_index < s.size();) {
    const Character c = character_at(s, byte_index);
    characters += c.code;
    byte_index += c.size;
  }
  return characters;
}

std::size_t valid_size(std::string_view s) {
  for (std::size_t byte_index = 0, valid_bytes = 0; byte_index < s.size();) {
    const std::size_t size = checked_size(s, byte_index, valid_bytes);
    if (size == 0) return byte_index;
    byte_index += size;
  }
  return s.size();
}

std::size_t incomplete_tail(std::string_view s) {
  std::size_t lead = s.size(), valid_bytes = 0;
  while (lead > 0 && s.size() - lead < 3 && is_continuation(s[lead - 1])) --lead;
  if (lead == 0) return 0;
  --lead;
  const bool is_cut = checked_size(s, lead, valid_bytes) == 0 && lead + valid_bytes == s.size() &&
                      static_cast<unsigned char>(s[lead]) >= 0xc2 && static_cast<unsigned char>(s[lead]) <= 0xf4;
  return is_cut ? s.size() - lead : 0;
}

std::string replace_invalid(std::string_view s) {
  if (valid_size(s) == s.size()) return std::string(s);
  std::string valid_text;
  for (std::size_t byte_index = 0, valid_bytes = 0; byte_index < s.size();) {
    const std::size_t size = checked_size(s, byte_index, valid_bytes);
    if (size == 0) {
      valid_text += "\uFFFD";
      byte_index += valid_bytes;
    } else {
      valid_text += s.substr(byte_index, size);
      byte_index += size;
    }
  }
  return valid_text;
}

bool is_ascii(std::string_view s) {
  return std::ranges::all_of(s, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool is_white_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
  const auto kind = category(c);
  return c == 0x85 || kind == UTF8PROC_CATEGORY_ZS || kind == UTF8PROC_CATEGORY_ZL || kind == UTF8PROC_CATEGORY_ZP;
}

bool is_punctuation(char32_t c) {
  if (c < 0x80)
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_PC && kind <= UTF8PROC_CATEGORY_PO;
}

bool is_numeric(char32_t c) {
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO;
}

bool is_nonspacing_mark(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_MN;
}

bool is_mark(char32_t c) {
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_MN && kind <= UTF8PROC_CATEGORY_ME;
}

bool is_control(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_CC;
}

bool is_other(char32_t c) {
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_CC;
}

bool is_letter(char32_t c) {
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_word(char32_t c) {
  const auto kind = category(c);
  return is_letter(c) || (kind >= UTF8PROC_CATEGORY_MN && kind <= UTF8PROC_CATEGORY_ME) ||
         kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_PC || c == 0x200c ||
         c == 0x200d;
}

bool is_cased(char32_t c) {
  const auto code = static_cast<utf8proc_int32_t>(c);
  return utf8proc_tolower(code) != code || utf8proc_toupper(code) != code;
}

bool is_upper(char32_t c) {
  return utf8proc_tolower(static_cast<utf8proc_int32_t>(c)) != static_cast<utf8proc_int32_t>(c);
}

std::string normalize(std::string_view s, NormalForm form) {
  if (is_ascii(s)) return std::string(s);
  int options = UTF8PROC_STABLE;
  options |= form == NormalForm::nfc || form == NormalForm::nfkc ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == NormalForm::nfkc || form == NormalForm::nfkd) options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t* bytes = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(s.data()), static_cast<utf8proc_ssize_t>(s.size()), &bytes,
                   static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(bytes, std::free);
  if (size < 0) fail(ErrorCode::invalid_argument, std::string("cannot normalize a text: ") + utf8proc_errmsg(size));
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

std::string lower_case(std::string_view s) {
  std::string lower_text;
  lower_text.reserve(s.size());
  for (std::size_t byte_index = 0; byte_index < s.size();) {
    const Character c = character_at(s, byte_index);
    byte_index += c.size;
    if (c.code < 0x80) {
      lower_text += static_cast<char>(c.code >= 'A' && c.code <= 'Z' ? c.code + 32 : c.code);
    } else if (c.code == 0x130) {
      lower_text += "i\u0307";  // the only character whose lower case has two (SpecialCasing.txt)
    } else {
      append_character(lower_text, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c.code))));
    }
  }
  return lower_text;
}

std::string upper_case(std::string_view s) {
  std::string upper_text;
  for (std::size_t byte_index = 0; byte_index < s.size();) {
    const Character c = character_at(s, byte_index);
    byte_index += c.size;
    if (c.code == 0xdf) {
      upper_text += "SS";
    } else {
      append_character(upper_text, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c.code))));
    }
  }
  return upper_text;
}

std::size_t grapheme_end(std::string_view s, std::size_t byte_index) {
  Character c = character_at(s, byte_index);
  utf8proc_int32_t state = 0;
  for (byte_index += c.size; byte_index < s.size(); byte_index += c.size) {
    const Character next = character_at(s, byte_index);
    if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(c.code),
                                         static_cast<utf8proc_int32_t>(next.code), &state))
      return byte_index;
    c = next;
  }
  return byte_index;
}

}  // namespace tern::text
