// The author's names for symbolic sizes, given at export: PyTorch's own names are s77, s33, ...
#pragma once

#include <string>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Renames symbols; each text is OLD=NEW, and all apply at once. Fails (invalid_argument) for a symbol missing in the
/// program (listing its symbols), for a name other than an identifier, and for a name of two symbols.
void name_sizes(Program& program, const std::vector<std::string>& texts);

}  // namespace tern
