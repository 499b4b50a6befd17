// The float products for any processor; the flags are in kernels/CMakeLists.txt.
#define TERN_SET_SGEMM set_baseline
#include "kernels/cpu/sgemm/micro.inc"
