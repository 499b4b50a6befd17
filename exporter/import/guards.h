// Relations between sizes that a traced program assumes (guards_code of a .pt2 file), as assertions of the function.
#pragma once

#include <string>
#include <vector>

#include "exporter/import/scope.h"

namespace tern::importing {

/// Gives the symbols that only strides and storage offsets of inputs contain the values of export: programs see inputs
/// in the memory layout that export saw.
void pin_layouts(const pt2::Program& model, Symbols& symbols);

/// Adds a node assert_dim for each guard that the ranges of the symbols do not imply. `names` are those of the user's
/// inputs, in order. Guards that cannot be expressed go to the list of what is missing.
void add_guards(Scope& scope, const std::vector<std::string>& names);

}  // namespace tern::importing
