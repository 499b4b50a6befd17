// The flags are in kernels/CMakeLists.txt.
#define TERN_SET_LOOPS set_avx512
#include "kernels/cpu/reproducible/loops.inc"
