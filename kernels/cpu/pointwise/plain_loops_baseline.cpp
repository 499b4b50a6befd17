// The plain loops for any processor; the flags are in kernels/CMakeLists.txt.
#define TERN_ADD_LOOPS add_plain_loops_baseline
#include "kernels/cpu/pointwise/plain_loops.inc"
