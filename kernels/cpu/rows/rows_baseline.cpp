// The row loops for any processor.
#define TERN_SET_ROWS set_baseline
#include "kernels/cpu/rows/rows.inc"
