// Valid texts of an archive.
#pragma once

#include <string>
#include <string_view>

namespace tern {

/// UTF-8 (no overlong forms, no surrogates) without zero bytes.
bool is_valid_text(std::string_view text);

/// Checks a text that arrives in parts, as is_valid_text() checks a whole one.
class TextChecker {
 public:
  void add(std::string_view part);
  /// True if the parts together are a valid text.
  bool finish() const { return is_valid_ && incomplete_.empty(); }

 private:
  std::string incomplete_;  ///< an incomplete character at the end
  bool is_valid_ = true;
};

}  // namespace tern
