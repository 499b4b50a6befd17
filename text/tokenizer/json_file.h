// Reads a tokenizer.json: vocabulary and merges into lists, all other fields into JSON.
#pragma once

#include <string_view>

#include "text/tokenizer/model.h"

namespace tern::text {

struct TokenizerFile {
  Json fields;  ///< without "model"
  ModelFields model;
};

/// Throws bad_file for a text that is not JSON of this kind.
TokenizerFile read_tokenizer_file(std::string_view text);

}  // namespace tern::text
