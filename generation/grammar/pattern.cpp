#include "generation/grammar/pattern.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <charconv>
#include <limits>
#include <optional>
#include <string>

#include "generation/grammar/characters.h"
#include "text/unicode.h"

namespace tern::grammar {
namespace {

constexpr std::size_t kMaxRepeats = 65536;
constexpr int kMaxGroups = 64;  // levels

const Characters kDigits = {{'0', '9'}};
const Characters kWordCharacters = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const Characters kSpaces = {{9, 13}, {' ', ' '}};

/// Other characters of ASCII: validators disagree about classes such as \D beyond it.
Characters ascii_complement(const Characters& set) {
  Characters result;
  for (const auto& [first, last] : complement(set)) {
    if (first <= 0x7E) result.emplace_back(std::max<std::uint32_t>(first, ' '), std::min<std::uint32_t>(last, 0x7E));
  }
  std::erase_if(result, [](const auto& range) { return range.first > range.second; });
  return result;
}

class PatternReader {
 public:
  PatternReader(Builder& builder, std::string_view pattern) : builder_(builder), pattern_(pattern) {
    if (text::valid_size(pattern) != pattern.size()) fail_at("it is not UTF-8");
  }

  /// The whole pattern. Each alternative without an anchor matches anywhere in the string.
  Symbol read_all() {
    std::vector<Symbols> alternatives;
    do {
      const bool is_begin = consume('^');
      Symbols symbols = read_sequence();
      const bool is_end = consume('$');
      if (position_ < pattern_.size() && pattern_[position_] != '|')
        fail_at(pattern_[position_] == ')' ? "')' has no '('" : "an anchor");
      if (!is_begin) symbols.insert(symbols.begin(), anything());
      if (!is_end) symbols.push_back(anything());
      alternatives.push_back(std::move(symbols));
    } while (consume('|'));
    return builder_.one_of(std::move(alternatives));
  }

 private:
  [[noreturn]] void fail_at(const std::string& reason) const {
    fail(ErrorCode::invalid_argument,
         fmt::format("pattern '{}', position {}: {} is not supported", pattern_, position_, reason));
  }
  bool consume(char c) {
    if (position_ >= pattern_.size() || pattern_[position_] != c) return false;
    ++position_;
    return true;
  }
  Symbol anything() { return builder_.repeat({json_character(builder_, {{0, kLastCharacter}})}, 0, {}); }

  Symbols read_sequence() {
    Symbols symbols;
    while (position_ < pattern_.size() && pattern_[position_] != '|' && pattern_[position_] != ')' &&
           pattern_[position_] != '$') {
      Symbols item = read_atom();
      symbols.push_back(read_repetition(std::move(item)));
    }
    return symbols;
  }

  Symbols read_atom() {
    const char c = pattern_[position_];
    if (c == '(') return {read_group()};
    if (c == '[') return {json_character(builder_, read_class())};
    if (c == '.') {
      ++position_;
      return {json_character(builder_, complement({{'\n', '\n'}, {'\r', '\r'}, {0x85, 0x85}, {0x2028, 0x2029}}))};
    }
    if (c == '*' || c == '+' || c == '?' || c == '{') fail_at("a repetition of nothing");
    if (c == '^') fail_at("an anchor inside the pattern");
    if (c == '\\') return {json_character(builder_, read_escape())};
    const std::uint32_t character = read_character();
    return {json_character(builder_, {{character, character}})};
  }

  Symbol read_group() {
    if (++groups_ > kMaxGroups) fail_at("deeper nesting");
    ++position_;
    if (consume('?') && !consume(':')) {
      // A named group: (?<name>...) or (?P<name>...)
      consume('P');
      const bool is_named =
          consume('<') && position_ < pattern_.size() && pattern_[position_] != '=' && pattern_[position_] != '!';
      if (!is_named) fail_at("look-around");
      position_ = std::min(pattern_.find('>', position_), pattern_.size() - 1) + 1;
    }
    std::vector<Symbols> alternatives;
    do {
      alternatives.push_back(read_sequence());
      if (position_ < pattern_.size() && pattern_[position_] == '$') fail_at("an anchor inside the pattern");
    } while (consume('|'));
    if (!consume(')')) fail_at("a group without ')'");
    --groups_;
    return builder_.one_of(std::move(alternatives));
  }

  Symbol read_repetition(Symbols item) {
    std::size_t min_count = 1;
    std::optional<std::size_t> max_count = 1;
    if (consume('*')) {
      min_count = 0;
      max_count = {};
    } else if (consume('+')) {
      max_count = {};
    } else if (consume('?')) {
      min_count = 0;
    } else if (consume('{')) {
      min_count = read_number();
      max_count = min_count;
      if (consume(','))
        max_count =
            position_ < pattern_.size() && pattern_[position_] == '}' ? std::nullopt : std::optional(read_number());
      if (!consume('}') || (max_count && *max_count < min_count)) fail_at("a broken repetition");
    } else {
      return builder_.one_of({std::move(item)});
    }
    consume('?');  // lazy: the same texts
    if (position_ < pattern_.size() && std::string_view("*+?{").find(pattern_[position_]) != std::string_view::npos)
      fail_at("a repetition of a repetition");
    return builder_.repeat(std::move(item), min_count, max_count);
  }

  std::size_t read_number() {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(pattern_.data() + position_, pattern_.data() + pattern_.size(), number);
    if (error != std::errc() || number > kMaxRepeats) fail_at("this repetition");
    position_ = static_cast<std::size_t>(end - pattern_.data());
    return number;
  }

  std::uint32_t read_character() {
    const auto lead = static_cast<unsigned char>(pattern_[position_++]);
    if (lead < 0x80) return lead;
    const int tails = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    std::uint32_t character = lead & (0x3FU >> tails);
    for (int i = 0; i < tails; ++i)
      character = character << 6 | (static_cast<unsigned char>(pattern_[position_++]) & 0x3FU);
    return character;
  }

  std::uint32_t read_hexadecimal(std::size_t digits) {
    std::uint32_t value = 0;
    const char* const begin = pattern_.data() + position_;
    if (pattern_.size() - position_ < digits) fail_at("a broken escape");
    const auto [end, error] = std::from_chars(begin, begin + digits, value, 16);
    if (error != std::errc() || end != begin + digits) fail_at("a broken escape");
    position_ += digits;
    return value;
  }

  Characters read_escape() {
    if (++position_ >= pattern_.size()) fail_at("a broken escape");
    const char c = pattern_[position_];
    const auto single_character = [&](std::uint32_t x) { return Characters{{x, x}}; };
    constexpr std::string_view kLiteralEscapes = "^$\\.*+?()[]{}|/-\"'#&,:;<=>@_`~!% ";
    if (kLiteralEscapes.find(c) != std::string_view::npos)
      return ++position_, single_character(static_cast<unsigned char>(c));
    switch (c) {
      case 'd': return ++position_, kDigits;
      case 'w': return ++position_, kWordCharacters;
      case 's': return ++position_, kSpaces;
      case 'D': return ++position_, ascii_complement(kDigits);
      case 'W': return ++position_, ascii_complement(kWordCharacters);
      case 'S': return ++position_, ascii_complement(kSpaces);
      case 'n': return ++position_, single_character('\n');
      case 'r': return ++position_, single_character('\r');
      case 't': return ++position_, single_character('\t');
      case 'f': return ++position_, single_character('\f');
      case 'v': return ++position_, single_character('\v');
      case 'x': return ++position_, single_character(read_hexadecimal(2));
      case 'u': return ++position_, single_character(read_hexadecimal(4));
      default: break;
    }
    fail_at("this escape");
  }

  Characters read_class() {
    ++position_;
    const bool is_negated = consume('^');
    bool has_named = false;
    Characters set;
    while (!consume(']')) {
      if (position_ >= pattern_.size()) fail_at("a class without ']'");
      Characters first = read_member(has_named);
      const bool is_range =
          pattern_.substr(position_).starts_with('-') && !pattern_.substr(position_).starts_with("-]");
      if (!is_range) {
        set.insert(set.end(), first.begin(), first.end());
        continue;
      }
      ++position_;
      if (position_ >= pattern_.size()) fail_at("a class without ']'");
      const Characters last = read_member(has_named);
      const bool is_valid = first.size() == 1 && first[0].first == first[0].second && last.size() == 1 &&
                            last[0].first == last[0].second && first[0].first <= last[0].first;
      if (!is_valid) fail_at("this range of characters");
      set.emplace_back(first[0].first, last[0].first);
    }
    if (!is_negated) return set;
    return has_named ? ascii_complement(set) : complement(set);
  }

  Characters read_member(bool& has_named) {
    if (pattern_[position_] == '\\') {
      if (pattern_.substr(position_).starts_with("\\b")) return position_ += 2, Characters{{8, 8}};
      Characters set = read_escape();
      has_named = has_named || set.size() != 1 || set[0].first != set[0].second;
      return set;
    }
    const std::uint32_t c = read_character();
    return {{c, c}};
  }

  Builder& builder_;
  std::string_view pattern_;
  std::size_t position_ = 0;
  int groups_ = 0;
};

}  // namespace

Symbol json_pattern(Builder& builder, std::string_view pattern) {
  return PatternReader(builder, pattern).read_all();
}

}  // namespace tern::grammar
