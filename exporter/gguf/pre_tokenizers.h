// Rules by which tokenizers of the family gpt2 divide text before they merge bytes (tokenizer.ggml.pre).
#pragma once

#include <string_view>

namespace tern::gguf {

struct PreTokenizer {
  std::string_view name;  ///< tokenizer.ggml.pre
  const char* pattern;    ///< splits text, or null for the pattern of GPT-2
  bool separates_digits = false;
  bool ignores_merges = false;  ///< a piece that is a token stays whole
  bool adds_bos = false;        ///< unless tokenizer.ggml.add_bos_token says otherwise
  bool composes = false;        ///< normalizes text to NFC
};

/// Null for a name that is not known.
const PreTokenizer* find_pre_tokenizer(std::string_view name);

}  // namespace tern::gguf
