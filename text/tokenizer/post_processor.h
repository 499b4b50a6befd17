// Post-processors: tokens around a text's ids.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "text/tokenizer/vocabulary.h"

namespace tern::text {

/// Ids before and after the ids of a text.
struct Frame {
  std::vector<TokenId> prefix, suffix;
};

/// Frame of the JSON object, or of null, for a single text.
Frame make_frame(const nlohmann::json& j, int depth = 0);

}  // namespace tern::text
