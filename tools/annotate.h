// Annotations from the command line: PATTERN key=value.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "schema/program.h"

namespace tern {

/// Parses "key=value". true and false are booleans, 12 is an integer, 0.5 a number, everything else a text; "quoted"
/// text loses its quotes. Throws invalid_argument.
Annotation parse_annotation(std::string_view text);

/// Gives the annotation to every node with a module path, ATen operator or Tern op matching the shell pattern (* ? []);
/// replaces an annotation with the same key. Returns the number of nodes.
std::size_t annotate(Program& program, const std::string& pattern, const Annotation& annotation);

}  // namespace tern
