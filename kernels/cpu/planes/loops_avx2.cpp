// The loops over planes for processors with AVX2 and FMA; the flags are in kernels/CMakeLists.txt.
#include "dtypes/cpu_level.h"
#if TERN_X86_LEVELS
#define TERN_SET_PLANES set_avx2
#define TERN_PLANES_LANES 8
#define TERN_PLANES_SUMS 12
#define TERN_PLANES_CHANNELS 4
#include "kernels/cpu/planes/loops.inc"
#endif
