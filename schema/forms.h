// Nodes of equal form, such as nodes of repeated blocks: checking one node covers all others.
#pragma once

#include <cstdint>
#include <vector>

#include "schema/program.h"

namespace tern {

/// First node of equal form (possibly the node itself), for each node. Forms are equal if all inputs of the shape rule
/// are: op, version, attributes, bodies, expression, and types of operands and results, including absent ones. Linear
/// time for any program.
std::vector<std::uint32_t> first_of_form(const Function& f);

}  // namespace tern
