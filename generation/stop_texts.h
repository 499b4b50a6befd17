// Finds the texts that end an answer, also across tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tern {

class StopTexts {
 public:
  explicit StopTexts(std::vector<std::string> texts) : texts_(std::move(texts)) {}

  /// Takes the next text of the answer. Returns text that belongs to the answer for certain: holds back an end that may
  /// begin a stop text, and everything from the first stop text on.
  std::string add(std::string_view text);
  /// Text held back, at the end of an answer without stop text.
  std::string finish();
  bool found() const { return found_; }

 private:
  std::vector<std::string> texts_;
  std::string pending_;
  bool found_ = false;
};

}  // namespace tern
