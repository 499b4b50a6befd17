// Products with weights as they lie for any processor; the flags are in kernels/CMakeLists.txt.
#define TERN_SET_LINEAR set_baseline
#define TERN_LINEAR_LANES 4
#define TERN_LINEAR_ROWS 4
#include "kernels/cpu/linear/micro.inc"
