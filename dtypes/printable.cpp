#include "dtypes/printable.h"

#include <cstdint>

namespace tern {
namespace {

/// Decodes the first character of `text`: returns its bytes, 0 for invalid UTF-8 (RFC 3629), and sets its number.
std::size_t decode(std::string_view text, std::uint32_t* code) {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  *code = at(0);
  if (*code < 0x80) return 1;
  const std::size_t more = *code >= 0xf0 ? 3 : *code >= 0xe0 ? 2 : 1;
  if (*code < 0xc2 || *code > 0xf4) return 0;
  *code &= 0x3fu >> more;
  for (std::size_t k = 1; k <= more; ++k) {
    if ((at(k) & 0xc0u) != 0x80u) return 0;
    *code = *code << 6 | (at(k) & 0x3fu);
  }
  const bool overlong = (more == 2 && *code < 0x800) || (more == 3 && *code < 0x10000);
  return overlong || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff) ? 0 : more + 1;
}

bool is_harmful(std::uint32_t c) {
  constexpr std::uint32_t kRanges[][2] = {{0, 0x1f},        {0x7f, 0x9f},     {0x200b, 0x200f}, {0x2028, 0x202e},
                                          {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};
  for (const auto& [first, last] : kRanges) {
    if (c >= first && c <= last) return true;
  }
  return false;
}

/// Escapes the text; with `lines`, keeps line breaks followed by two spaces.
std::string escaped(std::string_view text, bool lines) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::uint32_t code = 0;
    const std::size_t bytes = decode(text, &code);
    const std::string_view raw = text.substr(0, bytes == 0 ? 1 : bytes);
    if ((bytes != 0 && !is_harmful(code)) || (lines && text.starts_with("\n  "))) {
      out += raw;
    } else {
      for (const char c : raw) {
        const auto byte = static_cast<unsigned char>(c);
        for (const char part : {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]}) out += part;
      }
    }
    text.remove_prefix(raw.size());
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) {
  return escaped(text, false);
}

std::string printable_lines(std::string_view text) {
  return escaped(text, true);
}

std::string indented(std::string_view text) {
  std::string out(text.substr(0, text.find_last_not_of('\n') + 1));
  for (std::size_t at = 0; (at = out.find('\n', at)) != std::string::npos; at += 3) out.insert(at + 1, "  ");
  return out;
}

}  // namespace tern
