// Removes what nobody needs: nodes without effect whose results are not used, single results of others, and values that
// nothing defines any more.
#pragma once

#include "schema/program.h"

namespace tern {

/// Nodes that draw random numbers, assert, bind a symbol, talk to other devices or belong to other libraries stay, and
/// so does control flow around such nodes.
void remove_dead_code(Program& program);

}  // namespace tern
