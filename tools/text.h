// Text for terminals and machines: untrusted names made safe to print, sizes, JSON strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tern {

/// Escapes a name from a file for a terminal: control characters, characters changing the direction of text, and
/// invalid UTF-8 become \xNN, a backslash \\. Longer names are truncated to max_bytes, ending with "...".
std::string escape_name(std::string_view name, std::size_t max_bytes = 200);

/// The message of an error, escaped line by line: further lines begin with two spaces.
std::string escape_message(std::string_view message, std::size_t max_bytes = 2000);

/// Escapes text for a JSON string, without the quotes. Valid for any bytes: invalid UTF-8 becomes \ufffd.
std::string json_escape(std::string_view text);

bool is_utf8(std::string_view text);

/// "17 B", "1.5 kB", "90.9 MB": decimal units.
std::string human_bytes(std::uint64_t bytes);

/// "[2, 3]", and "[]" for no dimensions.
template <typename Sizes>
std::string sizes_text(const Sizes& sizes) {
  std::string text = "[";
  for (const auto size : sizes) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(size);
  }
  return text + "]";
}

/// Columns of the text on a terminal, one for each character.
std::size_t display_width(std::string_view text);

}  // namespace tern
