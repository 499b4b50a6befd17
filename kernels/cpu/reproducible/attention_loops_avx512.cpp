// The flags are in kernels/CMakeLists.txt.
#include "dtypes/cpu_level.h"
#if TERN_X86_LEVELS
#define TERN_SET_LOOPS set_avx512
#define TERN_BYTES 64
#define TERN_REGISTERS 2
#include "kernels/cpu/reproducible/attention_loops.inc"
#endif
