// The flags are in kernels/CMakeLists.txt.
#include "dtypes/cpu_level.h"
#if TERN_X86_LEVELS
#define TERN_SET_LOOPS set_avx512
#include "kernels/cpu/reproducible/loops.inc"
#endif
