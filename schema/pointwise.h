// Expression of a pointwise node: a flat list of typed scalar instructions, each reading earlier instructions.
#pragma once

#include <tern/dtype.h>

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tern {

// X(number, name, operands, domain): scalar operations. Numbers are part of the archive format.
// domain: the accepted operand types: a any number, r real, f real floating, i integer or boolean, c complex or real
// floating, x special. Operands and result have the instruction's dtype, with these exceptions: comparisons (eq..ge)
// and predicates give boolean; `where` takes a boolean first; convert, real, imag, abs, angle, complex change the dtype
// as named. Booleans support add and max (or), mul and min (and), comparisons, where and logic. Integer arithmetic
// wraps; a quotient or remainder by zero is 0; shifts by less than 0 or by 64 and more shift everything out. Floating
// arithmetic is IEEE without contraction; `fma` rounds once.
// clang-format off
#define TERN_SCALARS(X)                                                                       \
  X(1, load, 0, x) /* value: number of the input */                                           \
  X(2, constant, 0, x)                                                                        \
  X(3, convert, 1, a)                                                                         \
  X(4, index, 0, x) /* i64: the position along axis `input` of the output */                  \
  X(5, bitcast, 1, x)                                                                         \
  X(10, add, 2, a) X(11, sub, 2, a) X(12, mul, 2, a) X(13, div, 2, c) X(14, fma, 3, f)        \
  X(15, neg, 1, a) X(16, abs, 1, a) X(17, sign, 1, r) X(18, sgn, 1, c)                        \
  X(19, floordiv, 2, r) /* towards minus infinity, as Python */                               \
  X(20, truncdiv, 2, r) X(21, remainder, 2, r) /* sign of the divisor */                      \
  X(22, fmod, 2, r) X(23, pow, 2, a) X(24, min, 2, r) X(25, max, 2, r) /* NaN wins */         \
  X(26, fmin, 2, r) X(27, fmax, 2, r)                                 /* the number wins */   \
  X(30, eq, 2, a) X(31, ne, 2, a) X(32, lt, 2, r) X(33, le, 2, r) X(34, gt, 2, r) X(35, ge, 2, r) \
  X(36, where, 3, a)                                                                          \
  X(37, isnan, 1, c) X(38, isinf, 1, c) X(39, signbit, 1, r)                                  \
  X(40, and_, 2, i) X(41, or_, 2, i) X(42, xor_, 2, i) X(43, not_, 1, i) X(44, shl, 2, i) X(45, shr, 2, i) \
  X(46, gcd, 2, i) X(47, lcm, 2, i)                                                           \
  X(50, floor, 1, r) X(51, ceil, 1, r) X(52, trunc, 1, r) X(53, round, 1, r) /* half to even */ \
  X(54, copysign, 2, f) X(55, nextafter, 2, f) X(56, hypot, 2, f) X(57, atan2, 2, f)          \
  X(60, sqrt, 1, c) X(61, rsqrt, 1, c) X(62, exp, 1, c) X(63, exp2, 1, c) X(64, expm1, 1, c)  \
  X(65, log, 1, c) X(66, log2, 1, c) X(67, log10, 1, c) X(68, log1p, 1, c)                    \
  X(69, sin, 1, c) X(70, cos, 1, c) X(71, tan, 1, c) X(72, asin, 1, c) X(73, acos, 1, c) X(74, atan, 1, c) \
  X(75, sinh, 1, c) X(76, cosh, 1, c) X(77, tanh, 1, c) X(78, asinh, 1, c) X(79, acosh, 1, c) X(80, atanh, 1, c) \
  X(81, sigmoid, 1, c) X(82, reciprocal, 1, c)                                                \
  X(90, erf, 1, f) X(91, erfc, 1, f) X(92, erfinv, 1, f) X(93, erfcx, 1, f) X(94, lgamma, 1, f) X(95, digamma, 1, f) \
  X(96, polygamma, 2, f) X(97, zeta, 2, f) X(98, igamma, 2, f) X(99, igammac, 2, f)           \
  X(100, i0, 1, f) X(101, i0e, 1, f) X(102, i1, 1, f) X(103, i1e, 1, f) X(104, ndtri, 1, f) X(105, log_ndtr, 1, f) \
  X(106, bessel_j0, 1, f) X(107, bessel_j1, 1, f) X(108, bessel_y0, 1, f) X(109, bessel_y1, 1, f) \
  X(110, modified_bessel_k0, 1, f) X(111, modified_bessel_k1, 1, f) X(112, scaled_modified_bessel_k0, 1, f) \
  X(113, scaled_modified_bessel_k1, 1, f) X(114, spherical_bessel_j0, 1, f) X(115, airy_ai, 1, f) \
  X(116, chebyshev_t, 2, f) X(117, chebyshev_u, 2, f) X(118, chebyshev_v, 2, f) X(119, chebyshev_w, 2, f) \
  X(120, hermite_h, 2, f) X(121, hermite_he, 2, f) X(122, laguerre_l, 2, f) X(123, legendre_p, 2, f) \
  X(130, real, 1, x) X(131, imag, 1, x) X(132, complex, 2, x) X(133, conj, 1, c) X(134, angle, 1, x) \
  X(135, frexp_mantissa, 1, f) X(136, frexp_exponent, 1, x)
// clang-format on

enum class Scalar : std::uint16_t {
  invalid = 0,
#define TERN_SCALAR_ENUM(number, name, operands, domain) name = number,
  TERN_SCALARS(TERN_SCALAR_ENUM)
#undef TERN_SCALAR_ENUM
};

struct ScalarInfo {
  Scalar op = Scalar::invalid;
  std::string_view name;
  int operands = 0;
  char domain = 'x';
};
const ScalarInfo& scalar_info(Scalar op);
Scalar scalar_from_name(std::string_view name);

/// `dtype` is the result's type. a, b, c are numbers of earlier instructions. `number` holds a floating constant (real
/// and imaginary part). `integer` holds an integer or boolean constant, the input of a load, or the axis of an index;
/// for a convert to float8_e4m3fn the treatment of overflow: 0 NaN, 1 the largest finite number (dtypes/overflow.h).
struct Instruction {
  Scalar op = Scalar::invalid;
  DType dtype = DType::invalid;
  std::uint16_t a = 0, b = 0, c = 0;
  std::int64_t integer = 0;
  double number = 0, imaginary = 0;
  /// Compares constants by their bits.
  friend bool operator==(const Instruction& x, const Instruction& y) {
    return x.op == y.op && x.dtype == y.dtype && x.a == y.a && x.b == y.b && x.c == y.c && x.integer == y.integer &&
           std::bit_cast<std::uint64_t>(x.number) == std::bit_cast<std::uint64_t>(y.number) &&
           std::bit_cast<std::uint64_t>(x.imaginary) == std::bit_cast<std::uint64_t>(y.imaginary);
  }
};

/// The last instruction is the result. A `load` has the dtype of its input. Arithmetic uses only bool, i64, u64, f32,
/// f64, c64 and c128: narrower types are converted after loading, and rounded or wrapped before storing.
struct PointwiseExpr {
  std::vector<Instruction> code;
  friend bool operator==(const PointwiseExpr&, const PointwiseExpr&) = default;
};

inline constexpr std::size_t kMaxInstructions = 4096;

/// Type of arithmetic on `t`: f32 for f16, bf16 and the small floats, i64 for every other integer, c64 for c32.
DType compute_type(DType t);

/// Returns an empty string if the expression is well formed for these input dtypes and gives `output`; else the error.
std::string check(const PointwiseExpr& expr, const std::vector<DType>& inputs, DType output);

}  // namespace tern
