// Names of symbolic sizes that the author gives at export: PyTorch's own are s77, s33, ...
#pragma once

#include <string>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Renames symbols; each text is OLD=NEW, and all hold at once. Fails (invalid_argument) on a symbol that the program
/// does not have, listing its symbols, on a name that is no identifier, and on one that two symbols would have.
void name_sizes(Program& program, const std::vector<std::string>& texts);

}  // namespace tern
