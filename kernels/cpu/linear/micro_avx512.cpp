// Products with weights as they lie for processors with AVX-512; the flags are in kernels/CMakeLists.txt.
#define TERN_SET_LINEAR set_avx512
#include "kernels/cpu/linear/micro.inc"
