// The texts' loops for processors with AVX-512; the flags are in kernels/CMakeLists.txt.
#define TERN_FLOATS_ALONE 1  // what else there is runs with AVX2: it has branches, or seldom matters
#define TERN_ADD_LOOPS add_text_loops_avx512
#include "kernels/cpu/pointwise/text_loops.inc"
