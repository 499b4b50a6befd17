// The float products for processors with AVX-512; the flags are in kernels/CMakeLists.txt.
#define TERN_SET_SGEMM set_avx512
#include "kernels/cpu/sgemm/micro.inc"
