// Pre-tokenizers: splits of a normalized text into words, which the model encodes one by one.
#pragma once

#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tern::text {

/// A part of a text during encoding.
struct Word {
  std::string_view text;
  bool is_first = false;  ///< begins where the whole text begins
};

/// The words of a text, with the memory of changed ones.
struct Words {
  std::vector<Word> list;
  std::deque<std::string> texts;
};

/// Immutable; threads may share it.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// Replaces the words by their parts. Empty parts disappear.
  virtual void apply(Words& words) const = 0;
};

/// Pre-tokenizer of the JSON object, or of null: none.
std::unique_ptr<PreTokenizer> make_pre_tokenizer(const nlohmann::json& j, int depth = 0);

}  // namespace tern::text
