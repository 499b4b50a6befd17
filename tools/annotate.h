// Annotations from the command line: PATTERN key=value.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "schema/program.h"

namespace tern {

/// "key=value". true and false are booleans, 12 is an integer, 0.5 a number, everything else a text; "quoted" text is
/// taken without its quotes. Throws invalid_argument.
Annotation parse_annotation(std::string_view text);

/// Gives the annotation to every node whose module path, ATen operator or Tern op the shell pattern (* ? []) matches,
/// in place of one with the same key. Returns how many they were.
std::size_t annotate(Program& program, const std::string& pattern, const Annotation& annotation);

}  // namespace tern
