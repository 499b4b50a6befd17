// TERN_SIMD_MASKED: 1 if the file is compiled for registers of 16 floats with masks and permutations of all lanes.
#pragma once

#if defined(__AVX512F__)
#define TERN_SIMD_MASKED 1
#else
#define TERN_SIMD_MASKED 0
#endif
