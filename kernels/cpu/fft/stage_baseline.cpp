// The butterflies for any processor.
#define TERN_SET_STAGES set_stages_baseline
#include "kernels/cpu/fft/stage.inc"
