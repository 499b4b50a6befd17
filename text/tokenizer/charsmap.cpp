// The table of rewritings of a SentencePiece model: a double-array trie over texts, then their replacements, each with
// a zero byte at its end (sentencepiece/src/normalizer.cc describes the layout).
#include <fmt/format.h>
#include <tern/error.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "text/tokenizer/normalizer.h"
#include "text/unicode.h"

namespace tern::text {
namespace {

constexpr std::size_t kLongestGrapheme = 5;  ///< bytes of the longest grapheme that is looked up whole

std::string decode_base64(std::string_view encoded) {
  std::string decoded;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : encoded) {
    if (c == '=') break;
    const int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    if (value < 0) fail(ErrorCode::bad_file, "the tokenizer's precompiled_charsmap is not base64");
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      decoded += static_cast<char>(static_cast<unsigned char>(bits >> count));
    }
  }
  return decoded;
}

class Charsmap : public Normalizer {
 public:
  explicit Charsmap(std::string_view base64) {
    const std::string bytes = decode_base64(base64);
    std::uint32_t size = 0;
    if (bytes.size() < 4) fail(ErrorCode::bad_file, "the tokenizer's precompiled_charsmap is too short");
    std::memcpy(&size, bytes.data(), 4);
    if (size > bytes.size() - 4 || size % 4 != 0)
      fail(ErrorCode::bad_file,
           fmt::format("the trie of the tokenizer's precompiled_charsmap has {} bytes of {}", size, bytes.size() - 4));
    units_.resize(size / 4);
    std::memcpy(units_.data(), bytes.data() + 4, size);
    replacements_ = bytes.substr(4 + size);
    if (valid_size(replacements_) != replacements_.size())
      fail(ErrorCode::bad_file, "the replacements of the tokenizer's precompiled_charsmap are not UTF-8");
  }

  void apply(std::string& text) const override {
    std::string normalized;
    normalized.reserve(text.size());
    const std::string_view original = text;
    for (std::size_t grapheme_begin = 0; grapheme_begin < original.size();) {
      const std::size_t end = grapheme_end(original, grapheme_begin);
      if (end - grapheme_begin <= kLongestGrapheme) {
        if (const auto found = replacement(original.substr(grapheme_begin, end - grapheme_begin))) {
          normalized += *found;
          grapheme_begin = end;
          continue;
        }
      }
      while (grapheme_begin < end) {
        const std::string_view character = original.substr(grapheme_begin, character_at(original, grapheme_begin).size);
        normalized += replacement(character).value_or(character);
        grapheme_begin += character.size();
      }
    }
    text = std::move(normalized);
  }

 private:
  /// Replacement of the shortest text in the trie that `key` begins with.
  std::optional<std::string_view> replacement(std::string_view key) const {
    const auto offset = [](std::uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); };
    std::size_t node = 0;
    if (units_.empty()) return {};
    node ^= offset(units_[0]);
    for (const char c : key) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte == 0) return {};
      node ^= byte;
      if (node >= units_.size()) return {};
      const std::uint32_t unit = units_[node];
      if ((unit & ((1u << 31) | 0xff)) != byte) return {};
      node ^= offset(unit);
      if (node >= units_.size()) return {};
      if ((unit >> 8 & 1) == 0) continue;
      const std::size_t begin = units_[node] & ((1u << 31) - 1);
      if (begin > replacements_.size() || (begin < replacements_.size() && is_continuation(replacements_[begin])))
        return {};
      const std::size_t end = replacements_.find('\0', begin);
      return std::string_view(replacements_).substr(begin, end == std::string::npos ? end : end - begin);
    }
    return {};
  }

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace

std::unique_ptr<Normalizer> make_charsmap(std::string_view base64) {
  return std::make_unique<Charsmap>(base64);
}

}  // namespace tern::text
