// A number in a small floating type: rounds after every operation, like PyTorch's kernels in the same type.
#pragma once

#include <cmath>
#include <type_traits>

#include "dtypes/checked.h"

namespace tern::cpu {

template <class Storage>
struct Rounded {
  float value = 0;

  Rounded() = default;
  template <class N>
  requires std::is_arithmetic_v<N> Rounded(N v)
      : value(static_cast<float>(Storage(static_cast<float>(v)))) {}  // NOLINT: stands for a number
  explicit operator float() const { return value; }
  explicit operator std::int64_t() const { return clamped_to(value); }

  friend Rounded operator+(Rounded a, Rounded b) { return a.value + b.value; }
  friend Rounded operator-(Rounded a, Rounded b) { return a.value - b.value; }
  friend Rounded operator*(Rounded a, Rounded b) { return a.value * b.value; }
  friend Rounded operator/(Rounded a, Rounded b) { return a.value / b.value; }
  Rounded& operator+=(Rounded b) { return *this = *this + b; }
  Rounded& operator*=(Rounded b) { return *this = *this * b; }
  friend bool operator<(Rounded a, Rounded b) { return a.value < b.value; }
  friend bool operator==(Rounded a, Rounded b) { return a.value == b.value; }
};

// Overloads for argument-dependent lookup, next to std's for float and double.
template <class S>
Rounded<S> abs(Rounded<S> x) {
  return std::abs(x.value);
}
template <class S>
Rounded<S> floor(Rounded<S> x) {
  return std::floor(x.value);
}
template <class S>
Rounded<S> trunc(Rounded<S> x) {
  return std::trunc(x.value);
}
template <class S>
Rounded<S> nearbyint(Rounded<S> x) {
  return std::nearbyint(x.value);
}

}  // namespace tern::cpu
