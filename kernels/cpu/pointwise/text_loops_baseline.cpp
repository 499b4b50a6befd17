// The texts' loops for any processor; the flags are in kernels/CMakeLists.txt.
#define TERN_FUSED 1
#define TERN_ADD_LOOPS add_text_loops_baseline
#include "kernels/cpu/pointwise/text_loops.inc"
