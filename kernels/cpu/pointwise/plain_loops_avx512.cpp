// The plain loops for processors with AVX-512 (F, BW, DQ, VL); the flags are in kernels/CMakeLists.txt.
#define TERN_ADD_LOOPS add_plain_loops_avx512
#include "kernels/cpu/pointwise/plain_loops.inc"
