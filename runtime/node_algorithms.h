// Which algorithm each node of a prepared program runs by, where something chose one beforehand.
#pragma once

#include "runtime/prepared.h"

namespace tern {

/// As this tuning has it, on any number of threads. Nodes and algorithms that are not there are passed over.
void take_algorithms(PreparedProgram& prepared, const Tuning& tuning);
/// As the archive has it for this processor; where it has nothing, products of a weight that several functions read
/// take the algorithm that reads it where it lies. TERN_ALGORITHM in the environment is the algorithm for all nodes,
/// for tests.
void choose_algorithms(PreparedProgram& prepared, const Program& program);

}  // namespace tern
