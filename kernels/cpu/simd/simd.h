// Registers of floats of the instruction set that a file is compiled for, in one vocabulary: kLanes, kRegisters,
// Vector, load, store, spread, fused, load_some, store_some, copy_row, widen_halves. A file of its own for each
// instruction set; the flags are in kernels/CMakeLists.txt. Nothing here has linkage: each file that includes it has
// its own.
#pragma once

#include <cstdint>

#if defined(__AVX512F__)
#include "kernels/cpu/simd/avx512.h"
#elif defined(__AVX2__) && defined(__FMA__)
#include "kernels/cpu/simd/avx2.h"
#elif defined(__aarch64__)
#include "kernels/cpu/simd/neon.h"
#else
#include "kernels/cpu/simd/generic.h"
#endif
