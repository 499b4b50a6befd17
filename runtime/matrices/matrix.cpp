#include "runtime/matrices/matrix.h"

#include <algorithm>
#include <cmath>

namespace tern::matrices {
namespace {

/// Real and imaginary parts of an array of numbers.
template <class T>
const double* parts_of(const T* x) {
  return reinterpret_cast<const double*>(x);  // std::complex<double> is an array of two
}
template <class T>
constexpr std::int64_t kComponents = sizeof(T) / sizeof(double);

}  // namespace

template <class T>
int exponent_of(const T* x, std::int64_t count) {
  double largest = 0;
  for (std::int64_t i = 0; i < count * kComponents<T>; ++i) largest = std::max(largest, std::abs(parts_of(x)[i]));
  return largest == 0 ? kExponentOfZero : std::ilogb(largest) + 1;
}

template <class T>
void scale_by_power(T* x, std::int64_t count, int exponent) {
  double* const components = const_cast<double*>(parts_of(x));
  if (exponent == 0) return;
  for (std::int64_t i = 0; i < count * kComponents<T>; ++i) components[i] = std::ldexp(components[i], exponent);
}

template int exponent_of(const double*, std::int64_t);
template int exponent_of(const Complex*, std::int64_t);
template void scale_by_power(double*, std::int64_t, int);
template void scale_by_power(Complex*, std::int64_t, int);

}  // namespace tern::matrices
