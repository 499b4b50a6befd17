// The float products for processors with AVX2 and FMA; the flags are in kernels/CMakeLists.txt.
#define TERN_SET_SGEMM set_avx2
#include "kernels/cpu/sgemm/micro.inc"
