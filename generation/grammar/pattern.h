// Regular expressions of JSON schemas.
#pragma once

#include <string_view>

#include "generation/grammar/grammar.h"

namespace tern::grammar {

/// Contents of a JSON string that match an ECMA-262 pattern: alternatives, groups, classes, repetitions, and anchors at
/// both ends. Throws invalid_argument for broken patterns, and for look-around, back references and word boundaries.
Symbol json_pattern(Builder& builder, std::string_view pattern);

}  // namespace tern::grammar
