// The loops over planes for processors with AVX-512; the flags are in kernels/CMakeLists.txt.
#include "dtypes/cpu_level.h"
#if TERN_X86_LEVELS
#define TERN_SET_PLANES set_avx512
#define TERN_PLANES_LANES 16
#define TERN_PLANES_SUMS 24
#define TERN_PLANES_CHANNELS 8
#include "kernels/cpu/planes/loops.inc"
#endif
