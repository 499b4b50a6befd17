// Test for certain full rank of a triangle: estimates the condition by power iteration with R^H R and its inverse, each
// from a single start vector.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>

#include "kernels/cpu/linalg/lapack.h"

namespace tern::cpu {

/// Returns the ratio between a bound of the condition and its estimate after `steps` iterations. Estimates are too
/// small if the start is nearly orthogonal to a singular vector. The product of the start's components along the first
/// and last singular vectors is below 1 / (10000 n) in less than 1 % of random vectors, and in two of the tests with
/// cosines, sines and signs; the bound only matters for conditions near the limit.
inline double condition_slack(double n, int steps) {
  return std::pow(1e4 * n, 0.5 / steps);
}

/// Returns element i of the start vector, in 1/2..1 or -1..-1/2, so every axis has a component. Mixes bits well:
/// multiples of a number are orthogonal to smooth or symmetric vectors, and singular vectors often are smooth or
/// symmetric.
inline float start_element(std::int64_t i) {
  auto bits = static_cast<std::uint32_t>(i + 1) * 0x9E3779B9U;
  bits = (bits ^ (bits >> 16)) * 0x85EBCA6BU;
  bits = (bits ^ (bits >> 13)) * 0xC2B2AE35U;
  bits ^= bits >> 16;
  const float size = 0.5F + static_cast<float>(bits & 0x7FFFFFFFU) * 0x1p-32F;
  return bits >> 31 != 0 ? -size : size;
}

inline double square(double x) {
  return x * x;
}
inline double square(std::complex<double> x) {
  return std::norm(x);
}

/// True if the smallest singular value of the upper triangle of the column-major `r` certainly exceeds `rcond` times
/// the largest. Scratch: 2 n elements. False for NaN, infinities and numbers with overflowing squares.
template <class T>
bool has_full_rank(int n, const T* r, int leading, double rcond, T* scratch) {
  constexpr int most_steps = 7;
  T *grown = scratch, *shrunk = scratch + n;
  for (int i = 0; i < n; ++i) grown[i] = shrunk[i] = T(start_element(i));
  const auto normalise = [n](T* x) {
    double squares = 0;
    for (int i = 0; i < n; ++i) squares += square(x[i]);
    const double norm = std::sqrt(squares);
    for (int i = 0; i < n; ++i) x[i] *= static_cast<lapack::RealPart<T>>(1 / norm);
    return norm;
  };
  normalise(grown);
  normalise(shrunk);
  double squared = 1;  // the condition, to the power 2 * steps
  for (int steps = 1; steps <= most_steps; ++steps) {
    lapack::upper_times(CblasNoTrans, n, r, leading, grown);
    lapack::upper_times(CblasConjTrans, n, r, leading, grown);
    lapack::upper_solve(CblasConjTrans, n, r, leading, shrunk);
    lapack::upper_solve(CblasNoTrans, n, r, leading, shrunk);
    squared *= normalise(grown) * normalise(shrunk);
    const double condition = std::pow(squared, 0.5 / steps);
    if (condition * condition_slack(n, steps) * rcond < 1) return true;
    if (!(condition * rcond < 1)) return false;
  }
  return false;
}

}  // namespace tern::cpu
