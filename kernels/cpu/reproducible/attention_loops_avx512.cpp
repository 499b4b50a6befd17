// The flags are in kernels/CMakeLists.txt.
#define TERN_SET_LOOPS set_avx512
#define TERN_BYTES 64
#define TERN_REGISTERS 2
#include "kernels/cpu/reproducible/attention_loops.inc"
