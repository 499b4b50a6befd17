// The butterflies for processors with AVX-512; the flags are in kernels/CMakeLists.txt.
#define TERN_SET_STAGES set_stages_avx512
#include "kernels/cpu/fft/stage.inc"
