#include "tools/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tern {
namespace {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  ///< 0: the bytes are not UTF-8
};

/// Only well-formed sequences (The Unicode Standard, table 3-7): no surrogates, nothing overlong.
Character decode(std::string_view text) {
  const auto byte_at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte_at(0);
  if (lead < 0x80) return {lead, 1};
  std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  char32_t code = lead & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte_at(i) & 0xc0) != 0x80) return {};
    code = (code << 6) | (byte_at(i) & 0x3fu);
  }
  constexpr std::array<char32_t, 5> kFirstCodes = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kFirstCodes[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, bytes};
}

/// True for characters able to move the cursor, change colours, hide or reorder text.
bool is_harmful(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe0fff);
}

}  // namespace

std::string escape_name(std::string_view name, std::size_t max_bytes) {
  std::string escaped;
  while (!name.empty()) {
    const Character c = decode(name);
    const std::string_view raw = name.substr(0, c.bytes == 0 ? 1 : c.bytes);
    std::string piece(raw);
    if (raw == "\\") {
      piece = "\\\\";
    } else if (c.bytes == 0 || is_harmful(c.code)) {
      piece.clear();
      for (const char byte : raw) piece += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
    if (escaped.size() + piece.size() > max_bytes) return escaped + "...";
    escaped += piece;
    name.remove_prefix(raw.size());
  }
  return escaped;
}

std::string escape_message(std::string_view message, std::size_t max_bytes) {
  const std::size_t end = std::min(message.find("\n  "), message.size());
  std::string escaped = escape_name(message.substr(0, end), max_bytes);
  if (end == message.size() || escaped.size() >= max_bytes) return escaped;
  return escaped + '\n' + escape_message(message.substr(end + 1), max_bytes - escaped.size());
}

std::string json_escape(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    const Character c = decode(text);
    const std::string_view raw = text.substr(0, c.bytes == 0 ? 1 : c.bytes);
    if (c.bytes == 0) {
      escaped += "\\ufffd";
    } else {
      switch (c.code) {
        case '"': escaped += "\\\""; break;
        case '\\': escaped += "\\\\"; break;
        case '\b': escaped += "\\b"; break;
        case '\f': escaped += "\\f"; break;
        case '\n': escaped += "\\n"; break;
        case '\r': escaped += "\\r"; break;
        case '\t': escaped += "\\t"; break;
        default:
          if (is_harmful(c.code)) {  // a terminal may show the JSON, too
            const auto code = static_cast<unsigned>(c.code);
            escaped += code < 0x10000 ? fmt::format("\\u{:04x}", code)
                                      : fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + ((code - 0x10000) >> 10),
                                                    0xdc00 + ((code - 0x10000) & 0x3ff));
          } else {
            escaped += raw;
          }
      }
    }
    text.remove_prefix(raw.size());
  }
  return escaped;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Character c = decode(text);
    if (c.bytes == 0) return false;
    text.remove_prefix(c.bytes);
  }
  return true;
}

std::string human_bytes(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  constexpr std::array<const char*, 6> kUnits = {"kB", "MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  // 999.95 would print as 1000.0.
  while (value >= 999.95 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Character c = decode(text);
    text.remove_prefix(c.bytes == 0 ? 1 : c.bytes);
    ++width;
  }
  return width;
}

}  // namespace tern
