// The loops over planes for processors with AVX-512; the flags are in kernels/CMakeLists.txt.
#define TERN_SET_PLANES set_avx512
#include "kernels/cpu/planes/loops.inc"
