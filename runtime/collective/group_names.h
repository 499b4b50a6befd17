// The names by which a program calls groups.
#pragma once

#include <set>
#include <string>

namespace tern {

struct Program;

/// Of its collectives and messages, and of operators of libraries: what they are given as an argument whose name has
/// "group" in it.
std::set<std::string> group_names(const Program& program);

}  // namespace tern
