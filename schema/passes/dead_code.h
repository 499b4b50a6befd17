// Dead code elimination: removes nodes without effects whose results are unused, unused results of other nodes, and
// values that have no definition any more.
#pragma once

#include "schema/program.h"

namespace tern {

/// Keeps nodes that draw random numbers, assert, bind a symbol, communicate with other devices or belong to other
/// libraries, and control flow around such nodes.
void remove_dead_code(Program& program);

}  // namespace tern
