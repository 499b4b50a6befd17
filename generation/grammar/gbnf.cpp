#include "generation/grammar/gbnf.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>

#include "generation/grammar/characters.h"
#include "text/unicode.h"

namespace tern::grammar {
namespace {

constexpr std::size_t kMaxGbnfRepeats = 65536;
constexpr int kMaxGbnfGroups = 64;  // levels

class GbnfReader {
 public:
  explicit GbnfReader(std::string_view text) : text_(text) {
    if (text::valid_size(text) != text.size()) fail_at("the text is not UTF-8");
  }

  Grammar read_grammar() {
    skip_space(true);
    while (position_ < text_.size()) read_rule();
    for (const auto& [name, rule] : rules_) {
      if (!rule.is_defined) fail(ErrorCode::invalid_argument, fmt::format("grammar: there is no rule '{}'", name));
    }
    const auto root = rules_.find("root");
    if (root == rules_.end()) fail(ErrorCode::invalid_argument, "grammar: there is no rule 'root'");
    return {builder_, root->second.symbol};
  }

 private:
  struct Rule {
    Symbol symbol;
    bool is_defined = false;
  };

  [[noreturn]] void fail_at(const std::string& reason) const {
    const auto line = 1 + std::ranges::count(text_.substr(0, position_), '\n');
    fail(ErrorCode::invalid_argument, fmt::format("grammar, line {}: {}", line, reason));
  }
  bool starts_with(std::string_view s) const { return text_.substr(position_).starts_with(s); }
  bool consume(std::string_view s) {
    if (!starts_with(s)) return false;
    position_ += s.size();
    return true;
  }

  /// Lines end rules, except inside parentheses and behind '|'.
  void skip_space(bool over_lines) {
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (c == '#') {
        position_ = std::min(text_.find('\n', position_), text_.size());
      } else if (c == ' ' || c == '\t' || (over_lines && (c == '\n' || c == '\r'))) {
        ++position_;
      } else {
        return;
      }
    }
  }

  static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  }
  std::string read_name() {
    const std::size_t begin = position_;
    while (position_ < text_.size() && is_name(text_[position_])) ++position_;
    if (position_ == begin) fail_at("a name is missing");
    return std::string(text_.substr(begin, position_ - begin));
  }
  Rule& rule(const std::string& name) {
    const auto [found, is_new] = rules_.try_emplace(name);
    if (is_new) found->second.symbol = builder_.declare();
    return found->second;
  }

  void read_rule() {
    const std::string name = read_name();
    skip_space(false);
    if (!consume("::=")) fail_at("'::=' is missing");
    Rule& new_rule = rule(name);
    if (new_rule.is_defined) fail_at(fmt::format("a second rule '{}'", name));
    new_rule.is_defined = true;
    const Symbol symbol = new_rule.symbol;
    skip_space(true);
    builder_.add_alternative(symbol, {read_alternatives(0)});
    skip_space(false);
    if (position_ < text_.size() && text_[position_] != '\n' && text_[position_] != '\r')
      fail_at("the end of the rule is missing");
    skip_space(true);
  }

  Symbol read_alternatives(int depth) {
    if (depth > kMaxGbnfGroups) fail_at("too many levels of parentheses");
    std::vector<Symbols> alternatives;
    while (true) {
      alternatives.push_back(read_sequence(depth));
      // The bar may begin the next line.
      const std::size_t end = position_;
      skip_space(true);
      if (!consume("|")) {
        if (depth == 0) position_ = end;
        return builder_.one_of(std::move(alternatives));
      }
      skip_space(true);
    }
  }

  Symbols read_sequence(int depth) {
    Symbols symbols;
    while (position_ < text_.size()) {
      Symbols item;
      if (consume("\"")) {
        while (!consume("\"")) {
          if (position_ >= text_.size() || text_[position_] == '\n') fail_at("'\"' is missing");
          const std::uint32_t c = read_character();
          item.push_back(utf8(builder_, {{c, c}}));
        }
      } else if (consume("[")) {
        item = {utf8(builder_, read_class())};
      } else if (consume("(")) {
        skip_space(true);
        item = {read_alternatives(depth + 1)};
        if (!consume(")")) fail_at("')' is missing");
      } else if (consume(".")) {
        item = {utf8(builder_, {{0, kLastCharacter}})};
      } else if (is_name(text_[position_])) {
        item = {rule(read_name()).symbol};
      } else {
        break;
      }
      symbols.push_back(read_repetition(std::move(item)));
      skip_space(depth > 0);
    }
    return symbols;
  }

  Symbol read_repetition(Symbols item) {
    if (consume("*")) return builder_.repeat(std::move(item), 0, {});
    if (consume("+")) return builder_.repeat(std::move(item), 1, {});
    if (consume("?")) return builder_.repeat(std::move(item), 0, 1);
    if (!consume("{")) return builder_.one_of({std::move(item)});
    skip_space(false);
    const std::size_t min_count = starts_with(",") ? 0 : read_number();
    std::optional<std::size_t> max_count = min_count;
    skip_space(false);
    if (consume(",")) {
      skip_space(false);
      max_count = starts_with("}") ? std::nullopt : std::optional(read_number());
    }
    skip_space(false);
    if (!consume("}") || (max_count && *max_count < min_count)) fail_at("a broken repetition");
    return builder_.repeat(std::move(item), min_count, max_count);
  }

  std::size_t read_number() {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), number);
    if (error != std::errc() || number > kMaxGbnfRepeats)
      fail_at(fmt::format("a repetition counts to {}", kMaxGbnfRepeats));
    position_ = static_cast<std::size_t>(end - text_.data());
    return number;
  }

  std::uint32_t read_character() {
    const auto lead = static_cast<unsigned char>(text_[position_++]);
    if (lead == '\\') return read_escape();
    if (lead < 0x80) return lead;
    const int tails = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    std::uint32_t c = lead & (0x3FU >> tails);
    for (int i = 0; i < tails; ++i) c = c << 6 | (static_cast<unsigned char>(text_[position_++]) & 0x3FU);
    return c;
  }

  std::uint32_t read_escape() {
    if (position_ >= text_.size()) fail_at("a broken escape");
    const char c = text_[position_++];
    switch (c) {
      case 'n': return '\n';
      case 'r': return '\r';
      case 't': return '\t';
      case 'x': return read_hexadecimal(2);
      case 'u': return read_hexadecimal(4);
      case 'U': return read_hexadecimal(8);
      case '"':
      case '\\':
      case '[':
      case ']':
      case '-':
      case '^': return static_cast<unsigned char>(c);
      default: fail_at("an unknown escape");
    }
  }
  std::uint32_t read_hexadecimal(std::size_t digits) {
    std::uint32_t value = 0;
    const char* const begin = text_.data() + position_;
    if (text_.size() - position_ < digits) fail_at("a broken escape");
    const auto [end, error] = std::from_chars(begin, begin + digits, value, 16);
    if (error != std::errc() || end != begin + digits || value > kLastCharacter) fail_at("a broken escape");
    position_ += digits;
    return value;
  }

  Characters read_class() {
    const bool is_negated = consume("^");
    Characters set;
    while (!consume("]")) {
      if (position_ >= text_.size() || text_[position_] == '\n') fail_at("']' is missing");
      const std::uint32_t first = read_character();
      std::uint32_t last = first;
      if (starts_with("-") && !starts_with("-]")) {
        ++position_;
        if (position_ >= text_.size()) fail_at("']' is missing");
        last = read_character();
      }
      if (last < first) fail_at("a range of characters ends before its begin");
      set.emplace_back(first, last);
    }
    return is_negated ? complement(set) : set;
  }

  std::string_view text_;
  std::size_t position_ = 0;
  Builder builder_;
  std::map<std::string, Rule, std::less<>> rules_;
};

}  // namespace

Grammar gbnf_grammar(std::string_view text) {
  return GbnfReader(text).read_grammar();
}

}  // namespace tern::grammar
