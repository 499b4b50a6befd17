// Size relations assumed by a traced program (guards_code of a .pt2 file), as assertions of the function.
#pragma once

#include <string>
#include <vector>

#include "exporter/import/scope.h"

namespace tern::importing {

/// Pins symbols found only in strides and storage offsets of inputs to their values at export: programs see inputs in
/// the memory layout of export.
void pin_layouts(const pt2::Program& model, Symbols& symbols);

/// Adds a node assert_dim for each guard not implied by the symbols' ranges. `names` are the user's inputs, in order.
/// Inexpressible guards are added to the missing list.
void add_guards(Scope& scope, const std::vector<std::string>& names);

}  // namespace tern::importing
