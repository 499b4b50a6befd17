#include "text/tokenizer/byte_level.h"

#include <charconv>

#include "text/unicode.h"

namespace tern::text {

const std::array<char32_t, 256>& byte_characters() {
  static const std::array<char32_t, 256> characters = [] {
    std::array<char32_t, 256> table{};
    char32_t next_code = 256;
    for (unsigned b = 0; b < 256; ++b) {
      const bool is_itself = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
      table[b] = is_itself ? b : next_code++;
    }
    return table;
  }();
  return characters;
}

int byte_of_character(char32_t c) {
  static const std::array<std::int16_t, 324> bytes = [] {
    std::array<std::int16_t, 324> table{};
    table.fill(-1);
    for (unsigned b = 0; b < 256; ++b) table.at(byte_characters()[b]) = static_cast<std::int16_t>(b);
    return table;
  }();
  return c < bytes.size() ? bytes[c] : -1;
}

std::string bytes_of_characters(std::string_view token) {
  std::string bytes;
  for (std::size_t byte_index = 0; byte_index < token.size();) {
    const Character c = character_at(token, byte_index);
    const int byte = byte_of_character(c.code);
    if (byte < 0) return std::string(token);
    bytes += static_cast<char>(static_cast<unsigned char>(byte));
    byte_index += c.size;
  }
  return bytes;
}

std::optional<unsigned char> byte_of_token(std::string_view token) {
  unsigned value = 0;
  const bool is_byte = token.size() == 6 && token.starts_with("<0x") && token.ends_with('>') &&
                       std::from_chars(token.data() + 3, token.data() + 5, value, 16).ptr == token.data() + 5;
  return is_byte ? std::optional(static_cast<unsigned char>(value)) : std::nullopt;
}

void append_byte_characters(std::string& out, std::string_view text) {
  for (const char c : text) append_character(out, byte_characters()[static_cast<unsigned char>(c)]);
}

}  // namespace tern::text
