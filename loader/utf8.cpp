#include "loader/utf8.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tern {

bool is_valid_text(std::string_view text) {
  if (std::memchr(text.data(), 0, text.size()) != nullptr) return false;
  for (std::size_t i = 0; i < text.size();) {
    if (text.size() - i >= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, text.data() + i, 8);
      if ((word & 0x8080808080808080ull) == 0) {
        i += 8;
        continue;
      }
    }
    const auto byte = [&](std::size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0u; };
    const unsigned first = byte(i);
    if (first < 0x80) {
      ++i;
      continue;
    }
    const std::size_t continuation_count = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first < 0xc2 || first > 0xf4) return false;
    std::uint32_t code = first & (0x3fu >> continuation_count);
    for (std::size_t k = 1; k <= continuation_count; ++k) {
      if ((byte(i + k) & 0xc0u) != 0x80u) return false;
      code = code << 6 | (byte(i + k) & 0x3fu);
    }
    const bool overlong = (continuation_count == 2 && code < 0x800) || (continuation_count == 3 && code < 0x10000);
    if (overlong || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return false;
    i += continuation_count + 1;
  }
  return true;
}

void TextChecker::add(std::string_view part) {
  const auto is_continuation = [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) == 0x80u; };
  const auto sequence_size = [](char lead) -> std::size_t {
    const auto c = static_cast<unsigned char>(lead);
    return c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
  };
  while (is_valid_ && !incomplete_.empty() && !part.empty()) {
    if (!is_continuation(part.front())) {
      is_valid_ = false;
      return;
    }
    incomplete_ += part.front();
    part.remove_prefix(1);
    if (incomplete_.size() < sequence_size(incomplete_.front())) continue;
    is_valid_ = is_valid_text(incomplete_);
    incomplete_.clear();
  }
  std::size_t tail = 0;  // bytes after the last byte that begins a character
  while (tail < part.size() && tail < 3 && is_continuation(part[part.size() - 1 - tail])) ++tail;
  if (tail < part.size() && tail + 1 < sequence_size(part[part.size() - 1 - tail])) {
    incomplete_ = part.substr(part.size() - 1 - tail);
    part.remove_suffix(tail + 1);
  }
  is_valid_ = is_valid_ && is_valid_text(part);
}

}  // namespace tern
