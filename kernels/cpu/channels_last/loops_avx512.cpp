// The loops for processors with AVX-512; the flags are in kernels/CMakeLists.txt.
#define TERN_SET_LOOPS set_avx512
#include "kernels/cpu/channels_last/loops.inc"
