// The plain loops for any processor, with fma even if slow.
#define TERN_FUSED 1
#define TERN_LEVEL fused
#include "kernels/cpu/pointwise/plain_loops.inc"
