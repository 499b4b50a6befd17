// The row loops for processors with AVX2 and FMA; the flags are in kernels/CMakeLists.txt.
#define TERN_SET_ROWS set_avx2
#include "kernels/cpu/rows/rows.inc"
