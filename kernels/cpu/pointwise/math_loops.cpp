// Loops over C library functions.
#include <cmath>

#include "kernels/cpu/pointwise/loops.h"
#include "kernels/cpu/pointwise/scalar_loops.h"

namespace tern::pointwise {
namespace {

template <class T>
void add(LoopTable& t, DType d) {
#define TERN_MATH(name) t.set(Scalar::name, d, loop1<T, T, [](T x) { return std::name(x); }>);
  TERN_MATH(exp)
  TERN_MATH(exp2)
  TERN_MATH(expm1)
  TERN_MATH(log)
  TERN_MATH(log2)
  TERN_MATH(log10)
  TERN_MATH(log1p)
  TERN_MATH(sin)
  TERN_MATH(cos)
  TERN_MATH(tan)
  TERN_MATH(asin)
  TERN_MATH(acos)
  TERN_MATH(atan)
  TERN_MATH(sinh)
  TERN_MATH(cosh)
  TERN_MATH(tanh)
  TERN_MATH(asinh)
  TERN_MATH(acosh)
  TERN_MATH(atanh)
  TERN_MATH(erf)
  TERN_MATH(erfc)
#undef TERN_MATH
  t.set(Scalar::sigmoid, d, loop1<T, T, [](T x) { return T(1) / (T(1) + std::exp(-x)); }>);
  t.set(Scalar::pow, d, loop2<T, T, [](T x, T y) { return std::pow(x, y); }>);
  t.set(Scalar::atan2, d, loop2<T, T, [](T x, T y) { return std::atan2(x, y); }>);
  t.set(Scalar::hypot, d, loop2<T, T, [](T x, T y) { return std::hypot(x, y); }>);
  t.set(Scalar::nextafter, d, loop2<T, T, [](T x, T y) { return std::nextafter(x, y); }>);
  t.set(Scalar::angle, d, loop1<T, T, [](T x) {
          constexpr double pi = 3.14159265358979323846;
          return std::isnan(x) ? x : x < 0 ? static_cast<T>(pi) : T(0);
        }>);
  t.set(Scalar::frexp_mantissa, d, loop1<T, T, [](T x) {
          int e = 0;
          return std::frexp(x, &e);
        }>);
  t.set(Scalar::frexp_exponent, d, loop1<T, std::int64_t, [](T x) {
          int e = 0;
          std::frexp(x, &e);
          return static_cast<std::int64_t>(std::isfinite(x) ? e : 0);
        }>);
}

}  // namespace

void add_math_loops(LoopTable& t) {
  add<float>(t, DType::f32);
  add<double>(t, DType::f64);
}

}  // namespace tern::pointwise
