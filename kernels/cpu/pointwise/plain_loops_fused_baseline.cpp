// The plain loops for any processor, with fused multiply-adds; the flags are in kernels/CMakeLists.txt.
#define TERN_FUSED 1
#define TERN_ADD_LOOPS add_plain_loops_fused
#include "kernels/cpu/pointwise/plain_loops.inc"
