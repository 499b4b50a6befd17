// complex32: two binary16 numbers. std::complex is defined only for float, double and long double.
#pragma once

#include <complex>

#include "dtypes/small_float.h"

namespace tern {

struct ComplexHalf {
  Half re;
  Half im;

  ComplexHalf() = default;
  constexpr ComplexHalf(Half real, Half imaginary) : re(real), im(imaginary) {}
  /// Rounds each part.
  constexpr explicit ComplexHalf(std::complex<float> z) : re(z.real()), im(z.imag()) {}
  constexpr explicit operator std::complex<float>() const { return {static_cast<float>(re), static_cast<float>(im)}; }
};

static_assert(sizeof(ComplexHalf) == 4);

}  // namespace tern
