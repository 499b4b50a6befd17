// JSON as commands print it: on few lines, and safe to show on a terminal.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tern {

/// Objects of a list get a line each; everything else stays on its owner's line. Strings may hold any bytes
/// (json_escape, tools/text.h).
std::string json_text(const nlohmann::ordered_json& value);

/// Null for infinity and NaN, which JSON lacks.
nlohmann::ordered_json json_number(double value);

/// The number nearest to `value` with so many decimals; an integer for none.
nlohmann::ordered_json json_rounded(double value, int decimals);

}  // namespace tern
