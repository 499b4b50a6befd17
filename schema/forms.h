// Nodes of one form: blocks that a model repeats are made of them, and what holds for one holds for all.
#pragma once

#include <cstdint>
#include <vector>

#include "schema/program.h"

namespace tern {

/// For each node the number of the first one of its form, which is its own where none before was found. Nodes have one
/// form where all that a shape rule sees is the same: op, version, attributes, bodies, expression, and the types of
/// operands and results, those that are absent included. Takes linear time on any program.
std::vector<std::uint32_t> first_of_form(const Function& f);

}  // namespace tern
