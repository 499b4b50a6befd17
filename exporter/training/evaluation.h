// Turns a program exported in training mode into Module.eval()'s program.
#pragma once

#include "exporter/pt2/model.h"

namespace tern {

/// Dropout passes its operand on; batch norms normalize with their running statistics and leave them unchanged.
/// Decompositions of dropout into random numbers stay: the file does not mark them as dropout.
pt2::Program evaluation_model(pt2::Program model);

}  // namespace tern
