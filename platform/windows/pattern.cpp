#include "platform/pattern.h"

#include <optional>
#include <string_view>

namespace tern::platform {
namespace {

/// Tests a character against the set behind '[', and removes the set from the pattern. Empty for an unfinished set,
/// which is plain text.
std::optional<bool> is_in_set(std::string_view* pattern, char c) {
  std::string_view rest = *pattern;
  const bool negated = rest.starts_with('!') || rest.starts_with('^');
  if (negated) rest.remove_prefix(1);
  bool found = false;
  for (bool first = true; !rest.empty(); first = false) {
    if (rest[0] == ']' && !first) {
      *pattern = rest.substr(1);
      return found != negated;
    }
    if (rest[0] == '\\' && rest.size() > 1) rest.remove_prefix(1);
    const auto low = static_cast<unsigned char>(rest[0]);
    auto high = low;
    rest.remove_prefix(1);
    if (rest.size() > 1 && rest[0] == '-' && rest[1] != ']') {
      high = static_cast<unsigned char>(rest[1]);
      rest.remove_prefix(2);
    }
    found = found || (low <= static_cast<unsigned char>(c) && static_cast<unsigned char>(c) <= high);
  }
  return {};
}

bool matches_rest(std::string_view pattern, std::string_view text) {
  // Position behind the last star, and the first text that it has not tried to skip.
  std::string_view star_pattern, star_text;
  bool has_star = false;
  while (true) {
    bool same = false;
    if (!pattern.empty() && pattern[0] == '*') {
      pattern.remove_prefix(1);
      has_star = true;
      star_pattern = pattern;
      star_text = text;
      continue;
    }
    if (pattern.empty() && text.empty()) return true;
    if (!pattern.empty() && !text.empty()) {
      char c = pattern[0];
      pattern.remove_prefix(1);
      std::optional<bool> in_set;
      if (c == '[') in_set = is_in_set(&pattern, text[0]);
      if (!in_set && c == '\\' && !pattern.empty()) {
        c = pattern[0];
        pattern.remove_prefix(1);
        same = c == text[0];
      } else {
        same = in_set.value_or(c == '?' || c == text[0]);
      }
      text.remove_prefix(1);
    }
    if (same) continue;
    if (!has_star || star_text.empty()) return false;
    star_text.remove_prefix(1);
    pattern = star_pattern;
    text = star_text;
  }
}

}  // namespace

bool matches_pattern(const std::string& pattern, const std::string& text) {
  return matches_rest(pattern, text);
}

}  // namespace tern::platform
