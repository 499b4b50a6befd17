// The loops over planes for every processor.
#define TERN_SET_PLANES set_baseline
#define TERN_PLANES_LANES 4
#define TERN_PLANES_SUMS 12
#define TERN_PLANES_CHANNELS 4
#include "kernels/cpu/planes/loops.inc"
