// Loops of special functions.
#include "kernels/cpu/pointwise/loops.h"

namespace tern::pointwise {

void add_special_loops(LoopTable&) {}
void add_polynomial_loops(LoopTable&) {}

}  // namespace tern::pointwise
