// Products of bfloat16 with weights as they lie for processors with AVX512_BF16, beside the levels of
// dtypes/cpu_level.h; the flags are in kernels/CMakeLists.txt.
#define TERN_LEVEL avx512bf16
#define TERN_LINEAR_PAIRS
#include "kernels/cpu/products/float32/in_place_microkernel.inc"
