// The loops for processors with AVX2 and FMA; the flags are in kernels/CMakeLists.txt.
#define TERN_SET_LOOPS set_avx2
#include "kernels/cpu/channels_last/loops.inc"
