// The type of a number's real and imaginary parts.
#pragma once

#include <complex>

namespace tern {

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};

}  // namespace tern
