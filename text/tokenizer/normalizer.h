// Normalizers of tokenizers: changes of a text before it is split.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tern::text {

/// Immutable; threads may share it.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// Changes a text, valid UTF-8, in place.
  virtual void apply(std::string& text) const = 0;
};

/// Normalizer of the JSON object, or of null: none. `depth`: nesting of sequences so far.
std::unique_ptr<Normalizer> make_normalizer(const nlohmann::json& j, int depth = 0);
/// The table of rewritings that a SentencePiece model carries ("Precompiled"), from base64.
std::unique_ptr<Normalizer> make_charsmap(std::string_view base64);

}  // namespace tern::text
