// Vectors of floats and operations on vectors, with the same names for all instruction sets: a file for each, selected
// by the including file's compiler flags. Each has a separate namespace, since a program links several.
//
// Every namespace defines:
//   kBytes, kLanes        bytes and floats of a vector
//   kRegisters            number of vector registers
//   kFused                true if the processor has an fma instruction
//   Floats, Doubles, Words, Quad (four floats)
//   load, store           a vector; load_some, store_some: its first `count` lanes
//   store_past_caches     to an aligned address; pointwise/stream.h has the fence
//   spread                broadcasts a number
//   fused                 a * b + c, as an fma if available
//   fused_exactly         fma, rounded once on every processor; also for Doubles
//   root                  square root; also for Doubles
//   least, greatest       min and max of x and y; x if x is NaN, y if y is NaN or equal to x
//   bounded               least(greatest(x, low), high); NaN stays NaN; the bounds are not NaN, and low <= high
//   rounded               to Whole, nearest, ties to even, within int32; NaN gives a multiple of 256
//   store_low_bytes       the low 8 bits of each lane of Whole; store_some_low_bytes: of the first `count` lanes
//   times_power           p * 2^n
//   widen_half, widen_bfloat16, widen_int8, widen_uint8, widen_float8_e4m3fn, widen_float8_e5m2: a vector of
//                         elements, exactly
//   widen_two_float8_e4m3fn, widen_two_float8_e5m2: two vectors
//   widen_halves          a vector of binary16 codes
//   load_places           permutes the lanes of a loaded vector
//   look_up               looks up the low four bits in a table of 16 floats; kLooksUp: faster than arithmetic
//   transpose             four rows of four
#pragma once

#if defined(__AVX512F__)
#include "kernels/cpu/simd/avx512.h"
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "kernels/cpu/simd/avx2.h"
#elif defined(__aarch64__)
#include "kernels/cpu/simd/neon.h"
#else
#include "kernels/cpu/simd/baseline.h"
#endif
