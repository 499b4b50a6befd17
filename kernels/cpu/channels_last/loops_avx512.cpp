// The loops for processors with AVX-512; the flags are in kernels/CMakeLists.txt.
#include "dtypes/cpu_level.h"
#if TERN_X86_LEVELS
#define TERN_SET_LOOPS set_avx512
#define TERN_LANES 16
#include "kernels/cpu/channels_last/loops.inc"
#endif
