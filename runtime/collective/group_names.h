// Group names used by a program.
#pragma once

#include <set>
#include <string>

namespace tern {

struct Program;

/// Collects the names from collectives, messages, and arguments of library operators with "group" in their name.
std::set<std::string> group_names(const Program& program);

}  // namespace tern
