/* Device kernels for custom operators (tern/custom_op.h). A kernel is written once, as text: the device compiles the
 * text, and this header also turns the text into a function of your library, callable by its `run` on the CPU.
 *
 *   TERN_OP_TEXT(scale_text, TERN_FN void scale(tern_i64 i, TERN_GLOBAL const tern_f32* x, TERN_GLOBAL tern_f32* y,
 *                                               float by) { y[i] = x[i] * by; })
 *
 * defines the string `scale_text` and the function `scale`.
 *
 * The text must be valid OpenCL C 1.2, CUDA, HIP, Metal and C++ (also C, if your library is C). Allowed are:
 * - functions marked TERN_FN, the types below, pointers to tensors marked TERN_GLOBAL, `if` and loops;
 * - float functions: sqrt, fma, fabs, floor, ceil, rint, trunc, fmod, copysign, exp, log, pow, sin, cos, tan, tanh.
 * Forbidden are recursion, function pointers, double, lines beginning with '#', and reserved names of any of these
 * languages: half, kernel, device, constant, global, local.
 *
 * Elements of float16, bfloat16 and narrower floats are their codes. Tern compiles the text without contraction of
 * products and sums; compile your library with -ffp-contract=off to match. exp to tanh come from the compiler and may
 * differ in the last digit; the functions before them do not.
 */
#ifndef TERN_CUSTOM_KERNEL_H
#define TERN_CUSTOM_KERNEL_H

#include <stdint.h>
#ifdef __cplusplus
#include <math.h>
#else
#include <tgmath.h> /* sin of a float is a float, as in the other languages */
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
