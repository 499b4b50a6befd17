// All functions that translated kernels call. The build compiles them to LLVM's bitcode, from which each kernel takes
// its own.
#include "atomics.h"
#include "bits.h"
#include "dots.h"
#include "exchange.h"
#include "floats.h"
#include "matrices.h"
#include "places.h"
#include "run.h"
