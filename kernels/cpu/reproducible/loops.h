// Inner loops of sums in a fixed order, compiled once for each instruction set, with equal results on each.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#include "dtypes/levels.h"

namespace tern::reproducible {

/// sums[i] = v[i * step] * x + sums[i], as an fma; complex numbers: re = fma(-x.im, v.im, fma(x.re, v.re, re)), im =
/// fma(x.im, v.re, fma(x.re, v.im, im)). Integers wrap.
template <class T>
using AddScaled = void (*)(T x, const T* v, std::ptrdiff_t step, std::ptrdiff_t n, T* sums);

struct AddScaledLoops {
  AddScaled<float> f32;
  AddScaled<double> f64;
  AddScaled<std::complex<float>> c64;
  AddScaled<std::complex<double>> c128;
  AddScaled<std::int64_t> i64;
};

/// Returns the loops for this processor.
const AddScaledLoops& loops();

inline AddScaled<float> add_scaled(float) {
  return loops().f32;
}
inline AddScaled<double> add_scaled(double) {
  return loops().f64;
}
inline AddScaled<std::complex<float>> add_scaled(std::complex<float>) {
  return loops().c64;
}
inline AddScaled<std::complex<double>> add_scaled(std::complex<double>) {
  return loops().c128;
}
inline AddScaled<std::int64_t> add_scaled(std::int64_t) {
  return loops().i64;
}

TERN_LEVEL_FUNCTIONS(vectors, set, AddScaledLoops* loops)

}  // namespace tern::reproducible
