// The texts' loops for processors with AVX2 and FMA; the flags are in kernels/CMakeLists.txt.
#define TERN_ADD_LOOPS add_text_loops_avx2
#include "kernels/cpu/pointwise/text_loops.inc"
