// Translates expressions of Oniguruma to PCRE2. Both agree but for classes of characters.
#include <fmt/format.h>
#include <tern/error.h>

#include "text/regex.h"

namespace tern::text {
namespace {

// Members of classes by Unicode's definitions; PCRE2's own \s has U+180E, and its \w lacks marks.
constexpr std::string_view kSpaceMembers = R"(\p{Z}\t-\r\x{85})";
constexpr std::string_view kWordMembers = R"(\p{Alphabetic}\p{M}\p{N}\p{Pc})";
constexpr std::string_view kDigitMembers = R"(\p{Nd})";
constexpr std::string_view kHexMembers = "0-9a-fA-F";
constexpr int kMaxClassDepth = 32;

/// Names of properties that PCRE2 lacks.
struct PropertyName {
  std::string_view name, members;
};
constexpr PropertyName kProperties[] = {{"Alpha", R"(\p{Alphabetic})"}, {"Alnum", R"(\p{Alphabetic}\p{Nd})"},
                                        {"Space", kSpaceMembers},       {"Punct", R"(\p{P}$+<=>^`|~)"},
                                        {"Digit", kDigitMembers},       {"Upper", R"(\p{Uppercase})"},
                                        {"Lower", R"(\p{Lowercase})"},  {"Word", kWordMembers},
                                        {"Cntrl", R"(\p{Cc})"},         {"Letter", R"(\p{L})"},
                                        {"Mark", R"(\p{M})"},           {"Number", R"(\p{N})"},
                                        {"Punctuation", R"(\p{P})"},    {"Symbol", R"(\p{S})"},
                                        {"Separator", R"(\p{Z})"},      {"Blank", R"(\p{Zs}\t)"},
                                        {"XDigit", kHexMembers}};

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  std::string translate() {
    std::string translated;
    while (position_ < pattern_.size()) {
      if (pattern_[position_] == '[') {
        translated += read_class(0);
      } else if (pattern_[position_] == '\\') {
        const Members m = read_escape();
        if (m.text.empty()) continue;
        translated += m.is_class ? (m.is_negated ? "[^" : "[") + m.text + "]" : m.text;
      } else {
        translated += pattern_[position_++];
      }
    }
    return translated;
  }

 private:
  struct Members {
    std::string text;
    bool is_class = false, is_negated = false;
  };

  Members set(std::string_view members, bool is_negated) { return {std::string(members), true, is_negated}; }

  /// An escape sequence at `position_`: members of a class, or its own text.
  Members read_escape() {
    const std::size_t begin = position_;
    if (++position_ >= pattern_.size()) return {std::string(pattern_.substr(begin))};
    const char c = pattern_[position_++];
    switch (c) {
      case 's':
      case 'S': return set(kSpaceMembers, c == 'S');
      case 'w':
      case 'W': return set(kWordMembers, c == 'W');
      case 'd':
      case 'D': return set(kDigitMembers, c == 'D');
      case 'h':
      case 'H': return set(kHexMembers, c == 'H');
      case 'u':
        if (pattern_.substr(position_, 4).find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos &&
            position_ + 4 <= pattern_.size()) {
          position_ += 4;
          return {fmt::format("\\x{{{}}}", pattern_.substr(position_ - 4, 4))};
        }
        break;
      case 'p':
      case 'P': {
        const std::size_t end = pattern_.find('}', position_);
        if (position_ >= pattern_.size() || pattern_[position_] != '{' || end == std::string_view::npos) break;
        std::string_view name = pattern_.substr(position_ + 1, end - position_ - 1);
        position_ = end + 1;
        bool is_negated = c == 'P';
        if (name.starts_with('^')) {
          is_negated = !is_negated;
          name.remove_prefix(1);
        }
        for (const PropertyName& p : kProperties) {
          if (p.name == name) return set(p.members, is_negated);
        }
        return {fmt::format("\\{}{{{}}}", is_negated ? 'P' : 'p', name)};
      }
      default: break;
    }
    return {std::string(pattern_.substr(begin, position_ - begin))};
  }

  /// Operand of an intersection.
  struct Union {
    std::string members;               ///< content of a class of PCRE2
    std::vector<std::string> classes;  ///< further expressions of one character
    bool is_plain() const { return classes.empty(); }
    std::string expression() const {
      if (classes.empty()) return members.empty() ? "(?!)" : "[" + members + "]";
      std::string translated = "(?:";
      if (!members.empty()) translated += "[" + members + "]|";
      for (std::size_t i = 0; i < classes.size(); ++i) translated += (i == 0 ? "" : "|") + classes[i];
      return translated + ")";
    }
  };
  struct Class {
    std::vector<Union> operands;
    bool is_negated = false;
  };

  static std::string expression_of(const Class& c) {
    const bool is_plain = c.operands.size() == 1 && c.operands[0].is_plain();
    if (is_plain && !c.operands[0].members.empty()) return (c.is_negated ? "[^" : "[") + c.operands[0].members + "]";
    std::string group = "(?:";
    for (std::size_t i = 0; i + 1 < c.operands.size(); ++i) group += "(?=" + c.operands[i].expression() + ")";
    group += c.operands.back().expression() + ")";
    return c.is_negated ? "(?:(?!" + group + ")(?s:.))" : group;
  }

  std::string read_class(int depth) { return expression_of(parse_class(depth)); }

  Class parse_class(int depth) {
    if (depth > kMaxClassDepth) fail(ErrorCode::bad_file, "a regular expression of the tokenizer nests too deep");
    Class c;
    c.operands.emplace_back();
    ++position_;  // [
    if (position_ < pattern_.size() && pattern_[position_] == '^') {
      c.is_negated = true;
      ++position_;
    }
    for (bool is_first = true; position_ < pattern_.size(); is_first = false) {
      Union& u = c.operands.back();
      const char next = pattern_[position_];
      if (next == ']' && !is_first) {
        ++position_;
        return c;
      }
      if (pattern_.substr(position_).starts_with("[:")) {
        if (const std::size_t end = pattern_.find(":]", position_ + 2);
            end != std::string_view::npos && end - position_ < 16) {
          u.members += pattern_.substr(position_, end + 2 - position_);
          position_ = end + 2;
          continue;
        }
      }
      if (next == '[') {
        Class nested = parse_class(depth + 1);
        if (!nested.is_negated && nested.operands.size() == 1) {
          Union& inner = nested.operands[0];
          u.members += inner.members;
          u.classes.insert(u.classes.end(), inner.classes.begin(), inner.classes.end());
        } else {
          u.classes.push_back(expression_of(nested));
        }
      } else if (pattern_.substr(position_).starts_with("&&")) {
        position_ += 2;
        c.operands.emplace_back();
      } else if (next == '\\') {
        const Members m = read_escape();
        if (m.is_negated) {
          u.classes.push_back("[^" + m.text + "]");
        } else {
          u.members += m.text;
        }
      } else if (next == ']' || next == '^') {  // PCRE2 takes these for the end and a negation
        u.members += '\\';
        u.members += next;
        ++position_;
      } else {
        u.members += next;
        ++position_;
      }
    }
    fail(ErrorCode::bad_file, "a class of characters in a regular expression of the tokenizer has no end");
  }

  std::string_view pattern_;
  std::size_t position_ = 0;
};

}  // namespace

std::string pcre2_pattern(std::string_view pattern) {
  return Translator(pattern).translate();
}

}  // namespace tern::text
