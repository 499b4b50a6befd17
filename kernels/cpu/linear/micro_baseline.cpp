// Products with weights as they lie for any processor; the flags are in kernels/CMakeLists.txt.
#define TERN_SET_LINEAR set_baseline
#include "kernels/cpu/linear/micro.inc"
