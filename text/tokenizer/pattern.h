// Patterns in a tokenizer.json: {"String": " "} or {"Regex": "\\s+"}.
#pragma once

#include <nlohmann/json.hpp>

#include "text/regex.h"

namespace tern::text {

Regex make_pattern(const nlohmann::json& owner, const char* field);

}  // namespace tern::text
