// The float products for any processor; the flags are in kernels/CMakeLists.txt.
#define TERN_SET_SGEMM set_baseline
#define TERN_SGEMM_LANES 4
#define TERN_SGEMM_ROWS 4
#include "kernels/cpu/sgemm/micro.inc"
