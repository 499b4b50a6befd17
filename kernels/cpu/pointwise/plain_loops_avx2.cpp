// The plain loops for processors with AVX2 and FMA; the flags are in kernels/CMakeLists.txt.
#define TERN_ADD_LOOPS add_plain_loops_avx2
#include "kernels/cpu/pointwise/plain_loops.inc"
