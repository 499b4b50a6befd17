// The flags are in kernels/CMakeLists.txt.
#define TERN_SET_LOOPS set_avx2
#define TERN_BYTES 32
#define TERN_REGISTERS 1
#include "kernels/cpu/reproducible/attention_loops.inc"
