// All functions called by translated kernels. The build compiles the file to LLVM bitcode; each kernel links its own
// functions from the bitcode.
#include "atomics.h"
#include "bits.h"
#include "dots.h"
#include "exchange.h"
#include "floats.h"
#include "matrices.h"
#include "places.h"
#include "run.h"
