// Algorithms chosen in advance for nodes of a prepared program.
#pragma once

#include "runtime/prepared.h"

namespace tern {

/// Takes the algorithms of a tuning, for any thread count. Ignores unknown nodes and algorithms.
void take_algorithms(PreparedProgram& prepared, const Tuning& tuning);
/// Takes the archive's algorithms for this processor. Products with a weight shared by several functions and without an
/// archived choice read the weight in place. The environment variable TERN_ALGORITHM sets the algorithm of all nodes
/// (for tests).
void choose_algorithms(PreparedProgram& prepared, const Program& program);

}  // namespace tern
