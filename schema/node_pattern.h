// Which nodes a user means.
#pragma once

#include <string>

#include "schema/program.h"

namespace tern {

/// Whether the shell pattern (* ? []) matches the node's module path, its ATen operator, or its op.
bool matches(const Program& program, const Node& node, const std::string& pattern);

}  // namespace tern
