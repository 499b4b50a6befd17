// Vectors with a matrix per lane. Included by loops.inc, inside its namespaces, like all neighbouring files without a
// namespace.

template <class T>
struct Lane;
template <>
struct Lane<float> {
  using V = simd::Floats;
  using RealPart = float;
  using I = decltype(V{} < V{});
  using Four = float __attribute__((vector_size(16)));
  static constexpr int kBias = 127, kDigits = 23;  ///< exponent bias; digits after the point
  static constexpr float kEpsilon = 0x1p-24F;      ///< half a unit in the last place of 1
  static constexpr float kLeastNormal = 0x1p-126F;
  /// Matrices are scaled to a largest element of about kSize for spectra: squares of numbers down to kTiny, far below a
  /// rounding error of kSize, are normal, and squares of sums do not overflow.
  static constexpr float kSize = 0x1p40F, kTiny = 0x1p-50F, kFloor = 0x1p-10F;
};
template <>
struct Lane<double> {
  using V = simd::Doubles;
  using RealPart = double;
  using I = decltype(V{} < V{});
  using Four = double __attribute__((vector_size(32)));
  static constexpr int kBias = 1023, kDigits = 52;
  static constexpr double kEpsilon = 0x1p-53;
  static constexpr double kLeastNormal = 0x1p-1022;
  static constexpr double kSize = 0x1p300, kTiny = 0x1p-480, kFloor = 0x1p160;
};
template <class T>
using V = typename Lane<T>::V;
/// Integers, and masks: lanes of all zeros or all ones.
template <class T>
using I = typename Lane<T>::I;

template <class T>
TERN_SIMD_INLINE V<T> broadcast(T x) {
  return x - V<T>{};
}
template <class T>
TERN_SIMD_INLINE I<T> integers(std::int64_t x) {
  using Element = decltype(I<T>{}[0] + 0);
  return static_cast<Element>(x) - I<T>{};
}
template <class T>
TERN_SIMD_INLINE V<T>* registers(T* data) {
  return reinterpret_cast<V<T>*>(data);
}
template <class T>
TERN_SIMD_INLINE const V<T>* registers(const T* data) {
  return reinterpret_cast<const V<T>*>(data);
}

template <class T>
TERN_SIMD_INLINE V<T> magnitude(V<T> x) {
  const I<T> sign = reinterpret_cast<I<T>>(broadcast<T>(T(-0.0)));
  return reinterpret_cast<V<T>>(reinterpret_cast<I<T>>(x) & ~sign);
}
/// |x| with the sign of s.
template <class T>
TERN_SIMD_INLINE V<T> copy_sign(V<T> x, V<T> s) {
  const I<T> sign = reinterpret_cast<I<T>>(broadcast<T>(T(-0.0)));
  return reinterpret_cast<V<T>>((reinterpret_cast<I<T>>(x) & ~sign) | (reinterpret_cast<I<T>>(s) & sign));
}
template <class T>
TERN_SIMD_INLINE V<T> larger(V<T> x, V<T> y) {
  return x > y ? x : y;
}

template <class T>
TERN_SIMD_INLINE bool any_lane(I<T> mask) {
  std::uint64_t words[simd::kBytes / 8], all = 0;
  __builtin_memcpy(words, &mask, sizeof words);
  for (std::uint64_t w : words) all |= w;
  return all != 0;
}

/// The power of two below |x|, and its inverse. 0 and subnormal numbers give the smallest normal number; the largest
/// numbers, NaN and infinity give a power with a normal inverse.
template <class T>
struct Power {
  V<T> power, inverse;
};
template <class T>
TERN_SIMD_INLINE Power<T> power_below(V<T> x) {
  constexpr int digits = Lane<T>::kDigits;
  const I<T> bits = reinterpret_cast<I<T>>(magnitude<T>(x)) >> digits;
  const I<T> most = integers<T>(2 * Lane<T>::kBias - 1), least = integers<T>(1);
  I<T> exponent = bits > most ? most : bits;
  exponent = exponent < least ? least : exponent;
  return {reinterpret_cast<V<T>>(exponent << digits),
          reinterpret_cast<V<T>>((integers<T>(2 * Lane<T>::kBias) - exponent) << digits)};
}
