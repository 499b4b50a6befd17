// Regular expressions of tokenizers, in Oniguruma's syntax, over PCRE2.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tern::text {

/// Bytes [begin, end) of a text.
struct ByteRange {
  std::size_t begin = 0, end = 0;
};

/// A compiled expression or a literal text. Immutable; threads may share it.
class Regex {
 public:
  /// Throws bad_file for an expression that PCRE2 does not compile.
  static Regex expression(std::string_view pattern);
  static Regex literal(std::string_view text);

  /// All matches from left to right, without overlaps. Requires valid UTF-8. Throws runtime if a match exceeds the
  /// limit of steps.
  void find_all(std::string_view text, std::vector<ByteRange>& matches) const;

 private:
  struct Code;
  std::shared_ptr<const Code> code_;
  std::string literal_;
};

/// The text with `content` in place of each match; `matches` are those of find_all().
std::string replace_matches(std::string_view text, const std::vector<ByteRange>& matches, std::string_view content);

/// Expression of PCRE2 (with UTF and UCP) for an expression of Oniguruma in Ruby's syntax: nested and intersected
/// classes, \h, \s, \w, \d and \uHHHH.
std::string pcre2_pattern(std::string_view pattern);

}  // namespace tern::text
