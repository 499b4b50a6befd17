#include "exporter/pt2/text.h"

#include <fmt/format.h>

namespace tern::pt2 {

std::string quote(std::string_view name) {
  constexpr std::size_t kMaxShownBytes = 200;
  std::string text = "'";
  for (const char c : name.substr(0, kMaxShownBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    // Bytes from 0x80 on are escaped too: some terminals obey control characters written as UTF-8.
    if (byte < 0x20 || byte >= 0x7f)
      text += fmt::format("\\x{:02x}", byte);
    else
      text += c;
  }
  text += '\'';
  if (name.size() > kMaxShownBytes) text += fmt::format("... ({} bytes)", name.size());
  return text;
}

bool is_utf8(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xc2 ? 0
                               : lead < 0xe0 ? 2
                               : lead < 0xf0 ? 3
                               : lead < 0xf5 ? 4
                                             : 0;
    if (length == 0 || length > text.size() - i) return false;
    for (std::size_t k = 1; k < length; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return false;
    const auto second = length > 1 ? static_cast<unsigned char>(text[i + 1]) : 0;
    // Longer than needed, a surrogate, or beyond U+10FFFF (RFC 3629, section 4).
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second >= 0xa0) || (lead == 0xf0 && second < 0x90) ||
        (lead == 0xf4 && second >= 0x90))
      return false;
    i += length;
  }
  return true;
}

}  // namespace tern::pt2
