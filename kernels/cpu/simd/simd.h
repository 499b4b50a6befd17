// Vectors of floats and operations on vectors, with the same names for all instruction sets: a file for each, selected
// by the including file's compiler flags. Each has a separate namespace, since a program links several.
//
// Every namespace defines:
//   kBytes, kLanes        bytes and floats of a vector
//   kRegisters            number of vector registers
//   kFused                true if the processor has an fma instruction
//   Floats, Doubles, Words, Quad (four floats)
//   load, store           a register; load_some, store_some: its first `count` lanes
//   store_past_caches     to an aligned place; simd/stream.h has the fence
//   broadcast             a number in all lanes
//   fma                   a * b + c, in one instruction where there is one
//   exact_fma             the same, rounded once on every processor; of Doubles, too
//   root                  the square root, of Doubles, too
//   min, max              of x and y; x if it is NaN, y if that is NaN or they are equal
//   clamp                 min(max(x, low), high), NaN stays NaN; the bounds are numbers, and low <= high
//   rounded               to Whole, nearest, ties to even, of numbers that int32 holds; NaN gives a multiple of 256
//   store_low_bytes       the low 8 bits of each of Whole; store_some_low_bytes: of the first `count` lanes
//   times_power           p * 2^n
//   widen_half, widen_bfloat16, widen_int8, widen_uint8, widen_float8_e4m3fn, widen_float8_e5m2: a vector of
//                         elements, exactly
//   widen_two_float8_e4m3fn, widen_two_float8_e5m2: two vectors
//   widen_halves          a vector of binary16 codes
//   load_places           permutes the lanes of a loaded vector
//   permute               looks up the low four bits in a table of 16 floats; kPermutes: faster than arithmetic
//   transpose             each four lanes of four vectors
#pragma once

#include "kernels/cpu/simd/masked.h"

#if defined(__AVX512F__)
#include "kernels/cpu/simd/avx512.h"
#elif defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "kernels/cpu/simd/avx2.h"
#elif defined(__aarch64__)
#include "kernels/cpu/simd/neon.h"
#else
#include "kernels/cpu/simd/baseline.h"
#endif
