// The loops for processors with AVX2 and FMA; the flags are in kernels/CMakeLists.txt.
#include "dtypes/cpu_level.h"
#if TERN_X86_LEVELS
#define TERN_SET_LOOPS set_avx2
#define TERN_LANES 8
#include "kernels/cpu/channels_last/loops.inc"
#endif
