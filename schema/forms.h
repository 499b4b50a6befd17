// Nodes of one form, such as those of repeated blocks: a check of one of them holds for all.
#pragma once

#include <cstdint>
#include <vector>

#include "schema/program.h"

namespace tern {

/// For each node the number of the first node of its form, which may be the node itself. Nodes have the same
/// form if all inputs of a shape rule are equal: op, version, attributes, bodies, expression, and the types of
/// operands and results, including absent ones. Takes linear time on any program.
std::vector<std::uint32_t> first_of_form(const Function& f);

}  // namespace tern
