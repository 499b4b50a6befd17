// Dead code elimination: removes nodes without effects and with unused results, unused results of other nodes, and
// values left without a definition.
#pragma once

#include "schema/program.h"

namespace tern {

/// Keeps nodes that draw random numbers, assert, bind a symbol, communicate with other devices or belong to other
/// libraries, and control flow around such nodes.
void remove_dead_code(Program& program);

}  // namespace tern
