#include "generation/grammar/characters.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace tern::grammar {
namespace {

constexpr std::uint32_t kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF;
/// Largest code points of 1 to 4 bytes.
constexpr std::uint32_t kLargest[] = {0x7F, 0x7FF, 0xFFFF, kLastCharacter};

std::string utf8_text(std::uint32_t c) {
  const auto byte = [](std::uint32_t x) { return static_cast<char>(x); };
  const auto tail = [&](int shift) { return byte(0x80 | (c >> shift & 0x3F)); };
  if (c <= 0x7F) return {byte(c)};
  if (c <= 0x7FF) return {byte(0xC0 | c >> 6), tail(0)};
  if (c <= 0xFFFF) return {byte(0xE0 | c >> 12), tail(6), tail(0)};
  return {byte(0xF0 | c >> 18), tail(12), tail(6), tail(0)};
}

/// Byte sequences from `first` to `last`, of one size.
void add_range(Builder& b, std::string_view first, std::string_view last, const Symbols& begin,
               std::vector<Symbols>& alternatives) {
  const auto low = static_cast<unsigned char>(first[0]), high = static_cast<unsigned char>(last[0]);
  const auto add_suffixes = [&](unsigned from, unsigned to) { return joined({begin, {b.byte_range(from, to)}}); };
  if (first.size() == 1) {
    alternatives.push_back(add_suffixes(low, high));
    return;
  }
  const std::string lowest(first.size() - 1, '\x80'), highest(first.size() - 1, '\xBF');
  if (low == high) return add_range(b, first.substr(1), last.substr(1), add_suffixes(low, low), alternatives);
  unsigned middle = low, end = high;
  if (first.substr(1) != lowest) {
    add_range(b, first.substr(1), highest, add_suffixes(low, low), alternatives);
    ++middle;
  }
  if (last.substr(1) != highest) {
    add_range(b, lowest, last.substr(1), add_suffixes(high, high), alternatives);
    --end;
  }
  if (middle <= end) add_range(b, lowest, highest, add_suffixes(middle, end), alternatives);
}

std::vector<Symbols> utf8_alternatives(Builder& builder, const Characters& set) {
  std::vector<Symbols> alternatives;
  ByteSet ascii;
  for (auto [first, last] : normalized(set)) {
    for (const std::uint32_t largest : kLargest) {
      if (first > largest || first > last) continue;
      const std::uint32_t end = std::min(last, largest);
      if (largest == kLargest[0]) {
        for (std::uint32_t c = first; c <= end; ++c) ascii.set(c);
      } else {
        add_range(builder, utf8_text(first), utf8_text(end), {}, alternatives);
      }
      first = end + 1;
    }
  }
  if (ascii.any()) alternatives.push_back({builder.bytes(ascii)});
  return alternatives;
}

/// Characters that a JSON string escapes, with the letter of their escape.
constexpr std::pair<std::uint32_t, char> kEscapes[] = {{'"', '"'}, {'\\', '\\'}, {8, 'b'}, {12, 'f'},
                                                       {10, 'n'},  {13, 'r'},    {9, 't'}};

Symbol hexadecimal(Builder& b, std::string_view digits) {
  ByteSet set;
  for (const char c : digits) set.set(static_cast<unsigned char>(c));
  return b.bytes(set);
}

}  // namespace

Characters normalized(Characters set) {
  Characters clipped;
  for (const auto& [first, last] : set) {
    if (first < kFirstSurrogate) clipped.emplace_back(first, std::min(last, kFirstSurrogate - 1));
    if (last > kLastSurrogate)
      clipped.emplace_back(std::max(first, kLastSurrogate + 1), std::min(last, kLastCharacter));
  }
  std::ranges::sort(clipped);
  Characters result;
  for (const auto& [first, last] : clipped) {
    if (!result.empty() && first <= result.back().second + 1) {
      result.back().second = std::max(result.back().second, last);
    } else {
      result.emplace_back(first, last);
    }
  }
  return result;
}

Characters complement(const Characters& set) {
  Characters result;
  std::uint32_t next = 0;
  Characters sorted = set;
  std::ranges::sort(sorted);
  for (const auto& [first, last] : sorted) {
    if (first > next) result.emplace_back(next, first - 1);
    next = std::max(next, last + 1);
  }
  if (next <= kLastCharacter) result.emplace_back(next, kLastCharacter);
  return normalized(std::move(result));
}

Symbol utf8(Builder& builder, const Characters& set) {
  return builder.one_of(utf8_alternatives(builder, set));
}

Symbol json_character(Builder& builder, const Characters& set) {
  const Characters normal_set = normalized(set);
  Characters unescaped;
  for (const auto& range : normal_set) {
    // Parts of the range outside of the escaped characters.
    std::uint32_t next = std::max<std::uint32_t>(range.first, 0x20);
    for (const std::uint32_t c : {std::uint32_t{'"'}, std::uint32_t{'\\'}}) {
      if (c < next || c > range.second) continue;
      if (c > next) unescaped.emplace_back(next, c - 1);
      next = c + 1;
    }
    if (next <= range.second) unescaped.emplace_back(next, range.second);
  }
  std::vector<Symbols> alternatives = utf8_alternatives(builder, unescaped);
  for (const auto& [first, last] : normal_set) {
    for (std::uint32_t c = first; c <= std::min<std::uint32_t>(last, '\\'); ++c) {
      const auto* escape = std::ranges::find(kEscapes, c, [](const auto& e) { return e.first; });
      if (escape != std::end(kEscapes)) {
        alternatives.push_back(builder.literal({"\\" + std::string(1, escape->second)}));
      } else if (c < 0x20) {
        alternatives.push_back(builder.literal(fmt::format("\\u{:04x}", c)));
      }
    }
  }
  return builder.one_of(std::move(alternatives));
}

Symbol any_json_character(Builder& builder) {
  std::vector<Symbols> alternatives =
      utf8_alternatives(builder, {{0x20, '"' - 1}, {'"' + 1, '\\' - 1}, {'\\' + 1, kLastCharacter}});
  const Symbols backslash = builder.literal("\\");
  alternatives.push_back(joined({backslash, {hexadecimal(builder, "\"\\/bfnrt")}}));
  const Symbols u = builder.literal("\\u");
  const Symbol hex = hexadecimal(builder, "0123456789abcdefABCDEF");
  alternatives.push_back(joined({u, {hexadecimal(builder, "0123456789abcefABCEF"), hex, hex, hex}}));
  alternatives.push_back(joined({u, {hexadecimal(builder, "dD"), hexadecimal(builder, "01234567"), hex, hex}}));
  return builder.one_of(std::move(alternatives));
}

}  // namespace tern::grammar
