/* What the text of an operator for devices is written in (tern/custom_op.h), for the library that holds it: with this
 * header the same text is a function of the library too, which its `run` calls on the CPU.
 *
 *   TERN_OP_TEXT(scale_text, TERN_FN void scale(tern_i64 i, TERN_GLOBAL const tern_f32* x, TERN_GLOBAL tern_f32* y,
 *                                               float by) { y[i] = x[i] * by; })
 *
 * makes the string `scale_text` and the function `scale`. The text has to be valid OpenCL C 1.2, CUDA, HIP, Metal and
 * C++ (and C, where the library is written in it): functions marked TERN_FN, the types below, pointers to tensors
 * marked TERN_GLOBAL, `if`, loops, and sqrt, fma, fabs, floor, ceil, rint, trunc, fmod, copysign, exp, log, pow, sin,
 * cos, tan, tanh of float; no recursion, pointers to functions, double, lines that begin
 * with '#', or names that one of the languages keeps for itself: half, kernel, device, constant, global, local.
 * Elements of float16, bfloat16 and narrower floats are codes. Tern compiles it without contraction of products and
 * sums; compile the library so too (-ffp-contract=off). Functions beyond the first seven are the compiler's own, and
 * differ in their last digit.
 */
#ifndef TERN_CUSTOM_KERNEL_H
#define TERN_CUSTOM_KERNEL_H

#include <stdint.h>
#ifdef __cplusplus
#include <math.h>
#else
#include <tgmath.h> /* sin of float is of float, as in the other languages */
#endif

typedef uint8_t tern_u8, tern_boolean;
typedef int8_t tern_i8;
typedef int16_t tern_i16;
typedef uint16_t tern_u16, tern_f16, tern_bf16;
typedef int32_t tern_i32;
typedef uint32_t tern_u32;
typedef int64_t tern_i64;
typedef uint64_t tern_u64;
typedef float tern_f32;

#define TERN_FN static inline
#define TERN_GLOBAL
#define TERN_OP_TEXT(name, ...)            \
  static const char name[] = #__VA_ARGS__; \
  __VA_ARGS__

#endif
