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

constexpr std::size_t kMostGbnfRepeats = 65536;
constexpr int kMostGbnfGroups = 64;  // levels

class GbnfReader {
 public:
  explicit GbnfReader(std::string_view text) : text_(text) {
    if (text::valid_size(text) != text.size()) fail_at("the text is not UTF-8");
  }

  Grammar read() {
    skip_space(true);
    while (at_ < text_.size()) read_rule();
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

  [[noreturn]] void fail_at(const std::string& why) const {
    const auto line = 1 + std::ranges::count(text_.substr(0, at_), '\n');
    fail(ErrorCode::invalid_argument, fmt::format("grammar, line {}: {}", line, why));
  }
  bool starts_with(std::string_view s) const { return text_.substr(at_).starts_with(s); }
  bool take(std::string_view s) {
    if (!starts_with(s)) return false;
    at_ += s.size();
    return true;
  }

  /// Lines end rules, except inside parentheses and behind '|'.
  void skip_space(bool over_lines) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == ' ' || c == '\t' || (over_lines && (c == '\n' || c == '\r'))) {
        ++at_;
      } else {
        return;
      }
    }
  }

  static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  }
  std::string read_name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    if (at_ == begin) fail_at("a name is missing");
    return std::string(text_.substr(begin, at_ - begin));
  }
  Rule& rule(const std::string& name) {
    const auto [found, is_new] = rules_.try_emplace(name);
    if (is_new) found->second.symbol = builder_.declare();
    return found->second;
  }

  void read_rule() {
    const std::string name = read_name();
    skip_space(false);
    if (!take("::=")) fail_at("'::=' is missing");
    Rule& made = rule(name);
    if (made.is_defined) fail_at(fmt::format("a second rule '{}'", name));
    made.is_defined = true;
    const Symbol symbol = made.symbol;
    skip_space(true);
    builder_.add_alternative(symbol, {read_alternatives(0)});
    skip_space(false);
    if (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '\r') fail_at("the end of the rule is missing");
    skip_space(true);
  }

  Symbol read_alternatives(int depth) {
    if (depth > kMostGbnfGroups) fail_at("too many levels of parentheses");
    std::vector<Symbols> alternatives;
    while (true) {
      alternatives.push_back(read_sequence(depth));
      // The bar may begin the next line.
      const std::size_t end = at_;
      skip_space(true);
      if (!take("|")) {
        if (depth == 0) at_ = end;
        return builder_.one_of(std::move(alternatives));
      }
      skip_space(true);
    }
  }

  Symbols read_sequence(int depth) {
    Symbols symbols;
    while (at_ < text_.size()) {
      Symbols one;
      if (take("\"")) {
        while (!take("\"")) {
          if (at_ >= text_.size() || text_[at_] == '\n') fail_at("'\"' is missing");
          const std::uint32_t c = read_character();
          one.push_back(utf8(builder_, {{c, c}}));
        }
      } else if (take("[")) {
        one = {utf8(builder_, read_class())};
      } else if (take("(")) {
        skip_space(true);
        one = {read_alternatives(depth + 1)};
        if (!take(")")) fail_at("')' is missing");
      } else if (take(".")) {
        one = {utf8(builder_, {{0, kLastCharacter}})};
      } else if (is_name(text_[at_])) {
        one = {rule(read_name()).symbol};
      } else {
        break;
      }
      symbols.push_back(read_repetition(std::move(one)));
      skip_space(depth > 0);
    }
    return symbols;
  }

  Symbol read_repetition(Symbols one) {
    if (take("*")) return builder_.repeat(std::move(one), 0, {});
    if (take("+")) return builder_.repeat(std::move(one), 1, {});
    if (take("?")) return builder_.repeat(std::move(one), 0, 1);
    if (!take("{")) return builder_.one_of({std::move(one)});
    skip_space(false);
    const std::size_t least = starts_with(",") ? 0 : read_number();
    std::optional<std::size_t> most = least;
    skip_space(false);
    if (take(",")) {
      skip_space(false);
      most = starts_with("}") ? std::nullopt : std::optional(read_number());
    }
    skip_space(false);
    if (!take("}") || (most && *most < least)) fail_at("a broken repetition");
    return builder_.repeat(std::move(one), least, most);
  }

  std::size_t read_number() {
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (error != std::errc() || number > kMostGbnfRepeats)
      fail_at(fmt::format("a repetition counts to {}", kMostGbnfRepeats));
    at_ = static_cast<std::size_t>(end - text_.data());
    return number;
  }

  std::uint32_t read_character() {
    const auto lead = static_cast<unsigned char>(text_[at_++]);
    if (lead == '\\') return read_escape();
    if (lead < 0x80) return lead;
    const int tails = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    std::uint32_t c = lead & (0x3FU >> tails);
    for (int i = 0; i < tails; ++i) c = c << 6 | (static_cast<unsigned char>(text_[at_++]) & 0x3FU);
    return c;
  }

  std::uint32_t read_escape() {
    if (at_ >= text_.size()) fail_at("a broken escape");
    const char c = text_[at_++];
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
    const char* const begin = text_.data() + at_;
    if (text_.size() - at_ < digits) fail_at("a broken escape");
    const auto [end, error] = std::from_chars(begin, begin + digits, value, 16);
    if (error != std::errc() || end != begin + digits || value > kLastCharacter) fail_at("a broken escape");
    at_ += digits;
    return value;
  }

  Characters read_class() {
    const bool is_negated = take("^");
    Characters set;
    while (!take("]")) {
      if (at_ >= text_.size() || text_[at_] == '\n') fail_at("']' is missing");
      const std::uint32_t first = read_character();
      std::uint32_t last = first;
      if (starts_with("-") && !starts_with("-]")) {
        ++at_;
        if (at_ >= text_.size()) fail_at("']' is missing");
        last = read_character();
      }
      if (last < first) fail_at("a range of characters ends before its begin");
      set.emplace_back(first, last);
    }
    return is_negated ? complement(set) : set;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Builder builder_;
  std::map<std::string, Rule, std::less<>> rules_;
};

}  // namespace

Grammar gbnf_grammar(std::string_view text) {
  return GbnfReader(text).read();
}

}  // namespace tern::grammar
