// The loops over planes for processors with AVX2 and FMA; the flags are in kernels/CMakeLists.txt.
#define TERN_SET_PLANES set_avx2
#include "kernels/cpu/planes/loops.inc"
