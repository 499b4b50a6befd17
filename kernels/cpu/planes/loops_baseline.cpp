// The loops over planes for every processor.
#define TERN_SET_PLANES set_baseline
#include "kernels/cpu/planes/loops.inc"
