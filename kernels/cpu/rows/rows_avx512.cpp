// The row loops for processors with AVX-512; the flags are in kernels/CMakeLists.txt.
#define TERN_SET_ROWS set_avx512
#include "kernels/cpu/rows/rows.inc"
