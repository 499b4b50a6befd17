# The instruction sets ("levels") that loops are compiled for, on x86-64 and aarch64, least first: the last level that a
# processor has serves. CMake compiles by this list and writes it as dtypes/cpu_levels.h; dtypes/cpu_features.cpp finds
# out which levels a processor has.
#
# tern_cpu_level(NAME BASE "KIND..." FLAG...)
#   BASE  the level that TERN_CPU in the environment names to allow this one
#   KIND  the families of loops that are compiled for the level:
#     vectors            all loops in the vocabulary of kernels/cpu/simd/simd.h
#     narrow_vectors     loops that gain nothing by AVX-512
#     hashes             XXH3
#     bfloat16           products of rows of bfloat16, on vectors or tiles
#     bfloat16_vectors   the same on vectors, and packing for both
#     tiles              products on matrix tiles
#     int8_dots          dot products of 8-bit integers, whose weight lies as exported
#     int8_vectors       products of rows of 8-bit integers, four products to a lane
#     int8_pairs         the same by products of two rows and two columns of eight
#     int8_tiles         the same on matrix tiles
#     byte_digits        dot products with quantized elements of eight bits, in integers
#     nibble_digits      the same of four bits
#   FLAG  of the compiler
set(TERN_CPU_KINDS vectors narrow_vectors hashes bfloat16 bfloat16_vectors tiles int8_dots int8_vectors int8_pairs
  int8_tiles byte_digits nibble_digits)

set(avx2 -mavx2 -mfma -mf16c)
set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512vl -mavx512dq)
# GCC warns of its own 512-bit intrinsics, which begin with registers that nothing has written.
set(unwarned $<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized> $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
set(avx512vnni ${avx512} -mavx512vnni -mprfchw ${unwarned})
set(avx512bf16 ${avx512} -mavx512bf16 -mprfchw ${unwarned})
set(amx ${avx512bf16} -mamx-tile -mamx-bf16)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64|ARM64")
  tern_cpu_level(neon neon "vectors;narrow_vectors;int8_dots")
  if(TERN_CPU_LEVELS)
    tern_cpu_level(dotprod dotprod "int8_dots;int8_vectors;byte_digits;nibble_digits" -march=armv8.2-a+dotprod)
    tern_cpu_level(i8mm i8mm "int8_dots;int8_pairs" -march=armv8.2-a+dotprod+i8mm)
    tern_cpu_level(bf16 bf16 "bfloat16;bfloat16_vectors" -march=armv8.2-a+bf16)
  endif()
else()
  tern_cpu_level(baseline baseline "vectors;narrow_vectors;int8_dots")
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND TERN_CPU_LEVELS)
  tern_cpu_level(avx2 avx2 "vectors;narrow_vectors;hashes;int8_dots" ${avx2})
  tern_cpu_level(avxvnni avx2 "int8_vectors" ${avx2} -mavxvnni)
  tern_cpu_level(avx512 avx512 "vectors;int8_dots" ${avx512})
  tern_cpu_level(avx512vnni avx512 "int8_dots;int8_vectors;byte_digits" ${avx512vnni})
  tern_cpu_level(avx512vbmi avx512 "nibble_digits" ${avx512vnni} -mavx512vbmi)
  tern_cpu_level(avx512bf16 avx512 "bfloat16;bfloat16_vectors" ${avx512bf16})
  tern_cpu_level(amx avx512 "bfloat16;tiles" ${amx})
  tern_cpu_level(amxint8 avx512 "int8_tiles" ${amx})
endif()
