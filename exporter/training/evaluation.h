// A program that was exported in training mode, as Module.eval() would have it.
#pragma once

#include "exporter/pt2/model.h"

namespace tern {

/// Dropout passes its operand on, and batch norms normalize with their running statistics and leave them as they are.
/// Decompositions of dropout into random numbers stay as they are: nothing in the file tells that they are dropout.
pt2::Program in_evaluation_mode(pt2::Program model);

}  // namespace tern
