// Reports of weights stored in other types than before, as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runtime/widened.h"

namespace tern {

/// A line for each, or nothing.
std::string widened_text(const std::vector<WidenedNode>& nodes);
/// An array.
nlohmann::ordered_json widened_json(const std::vector<WidenedNode>& nodes);

}  // namespace tern
