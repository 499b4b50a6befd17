// The float products for processors with AVX2 and FMA; the flags are in kernels/CMakeLists.txt.
#include "dtypes/cpu_level.h"
#if TERN_X86_LEVELS
#define TERN_SET_SGEMM set_avx2
#define TERN_SGEMM_LANES 8
#define TERN_SGEMM_ROWS 6
#include "kernels/cpu/sgemm/micro.inc"
#endif
