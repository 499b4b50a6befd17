// The butterflies for processors with AVX2 and FMA; the flags are in kernels/CMakeLists.txt.
#define TERN_SET_STAGES set_stages_avx2
#include "kernels/cpu/fft/stage.inc"
