// The float products for processors with AVX-512; the flags are in kernels/CMakeLists.txt.
#include "dtypes/cpu_level.h"
#if TERN_X86_LEVELS
#define TERN_SET_SGEMM set_avx512
#define TERN_SGEMM_LANES 16
#define TERN_SGEMM_ROWS 8
#include "kernels/cpu/sgemm/micro.inc"
#endif
