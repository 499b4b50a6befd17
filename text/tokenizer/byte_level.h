// The characters that stand for the 256 bytes in vocabularies of GPT-2's kind.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tern::text {

/// Character of each byte: printable bytes of Latin-1 are themselves, others follow from U+0100.
const std::array<char32_t, 256>& byte_characters();
/// Byte of a character, or -1.
int byte_of_character(char32_t c);
/// Appends the characters of all bytes of `text`.
void append_byte_characters(std::string& out, std::string_view text);

/// Bytes of a token of such a vocabulary; the token itself if a character stands for no byte.
std::string bytes_of_characters(std::string_view token);
/// Byte of a token such as <0x41>.
std::optional<unsigned char> byte_of_token(std::string_view token);

}  // namespace tern::text
