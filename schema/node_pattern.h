// Selection of nodes by users' patterns.
#pragma once

#include <string>

#include "schema/program.h"

namespace tern {

/// True if the shell pattern (* ? []) matches the node's module path, ATen operator, or op.
bool matches(const Program& program, const Node& node, const std::string& pattern);

}  // namespace tern
