// Products with weights as they lie for processors with AVX2 and FMA; the flags are in kernels/CMakeLists.txt.
#include "dtypes/cpu_level.h"
#if TERN_X86_LEVELS
#define TERN_SET_LINEAR set_avx2
#define TERN_LINEAR_LANES 8
#define TERN_LINEAR_ROWS 6
#include "kernels/cpu/linear/micro.inc"
#endif
