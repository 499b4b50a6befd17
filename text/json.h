// JSON from untrusted texts, over nlohmann::json.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace tern::text {

inline constexpr int kMaxJsonDepth = 64;

/// Parses a text. `what` names it in messages ("tokenizer_config.json"). Throws bad_file for a text that is not JSON or
/// nests deeper than kMaxJsonDepth.
nlohmann::ordered_json parse_ordered_json(std::string_view text, std::string_view subject);
nlohmann::json parse_json(std::string_view text, std::string_view subject);

}  // namespace tern::text
