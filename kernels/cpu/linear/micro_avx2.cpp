// Products with weights as they lie for processors with AVX2 and FMA; the flags are in kernels/CMakeLists.txt.
#define TERN_SET_LINEAR set_avx2
#include "kernels/cpu/linear/micro.inc"
