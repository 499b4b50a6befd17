// Complex numbers in lanes: a vector of real parts and a vector of imaginary parts. The functions below let a single
// source text serve real and complex matrices; for real matrices they are the plain operation.

template <class R>
struct ComplexLanes {
  typename Lane<R>::V re, im;
};
template <class R>
struct Lane<std::complex<R>> {
  using V = ComplexLanes<R>;
  using I = typename Lane<R>::I;
  using RealPart = R;
};
/// The real type: float for float and complex64.
template <class T>
using RealPart = typename Lane<T>::RealPart;
template <class T>
inline constexpr bool kIsComplex = !std::is_same_v<T, RealPart<T>>;
template <class T>
inline constexpr int kWidth = simd::kBytes / static_cast<int>(sizeof(RealPart<T>));

template <class R>
TERN_SIMD_INLINE ComplexLanes<R> operator-(ComplexLanes<R> x) {
  return {-x.re, -x.im};
}
template <class R>
TERN_SIMD_INLINE ComplexLanes<R> operator+(ComplexLanes<R> x, ComplexLanes<R> y) {
  return {x.re + y.re, x.im + y.im};
}
template <class R>
TERN_SIMD_INLINE ComplexLanes<R> operator-(ComplexLanes<R> x, ComplexLanes<R> y) {
  return {x.re - y.re, x.im - y.im};
}
template <class R>
TERN_SIMD_INLINE ComplexLanes<R> operator*(ComplexLanes<R> x, typename Lane<R>::V y) {
  return {x.re * y, x.im * y};
}
template <class R>
TERN_SIMD_INLINE ComplexLanes<R> operator*(ComplexLanes<R> x, ComplexLanes<R> y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

/// Returns x if the mask is set, else y.
template <class T>
TERN_SIMD_INLINE V<T> select(I<T> mask, V<T> x, V<T> y) {
  if constexpr (kIsComplex<T>) {
    return {mask ? x.re : y.re, mask ? x.im : y.im};
  } else {
    return mask ? x : y;
  }
}
template <class T>
TERN_SIMD_INLINE V<T> conjugate(V<T> x) {
  if constexpr (kIsComplex<T>) {
    return {x.re, -x.im};
  } else {
    return x;
  }
}
template <class T>
TERN_SIMD_INLINE V<RealPart<T>> real_part(V<T> x) {
  if constexpr (kIsComplex<T>) {
    return x.re;
  } else {
    return x;
  }
}
/// Converts a real number to T.
template <class T>
TERN_SIMD_INLINE V<T> from_real(V<RealPart<T>> x) {
  if constexpr (kIsComplex<T>) {
    return {x, V<RealPart<T>>{}};
  } else {
    return x;
  }
}
template <class T>
TERN_SIMD_INLINE V<T> number(RealPart<T> x) {
  return from_real<T>(broadcast<RealPart<T>>(x));
}
/// Broadcasts *from.
template <class T>
TERN_SIMD_INLINE V<T> repeated(const T* from) {
  if constexpr (kIsComplex<T>) {
    const auto* parts = reinterpret_cast<const RealPart<T>*>(from);
    return {broadcast<RealPart<T>>(parts[0]), broadcast<RealPart<T>>(parts[1])};
  } else {
    return broadcast<T>(*from);
  }
}
template <class T>
TERN_SIMD_INLINE I<T> is_zero(V<T> x) {
  if constexpr (kIsComplex<T>) {
    return (x.re == RealPart<T>(0)) & (x.im == RealPart<T>(0));
  } else {
    return x == T(0);
  }
}
/// x|, or |re| + |im|: the magnitude for pivots in BLAS (izamax) and LAPACK.
template <class T>
TERN_SIMD_INLINE V<RealPart<T>> pivot_size(V<T> x) {
  if constexpr (kIsComplex<T>) {
    return magnitude<RealPart<T>>(x.re) + magnitude<RealPart<T>>(x.im);
  } else {
    return magnitude<T>(x);
  }
}
/// Returns max(|re|, |im|).
template <class T>
TERN_SIMD_INLINE V<RealPart<T>> larger_part(V<T> x) {
  if constexpr (kIsComplex<T>) {
    return larger<RealPart<T>>(magnitude<RealPart<T>>(x.re), magnitude<RealPart<T>>(x.im));
  } else {
    return magnitude<T>(x);
  }
}
/// |x|^2
template <class T>
TERN_SIMD_INLINE V<RealPart<T>> squared_size(V<T> x) {
  if constexpr (kIsComplex<T>) {
    return x.re * x.re + x.im * x.im;
  } else {
    return x * x;
  }
}
/// sum - x y, sum + x y: four fmas for complex numbers.
template <class T>
TERN_SIMD_INLINE void subtract(V<T>& sum, V<T> x, V<T> y) {
  if constexpr (kIsComplex<T>) {
    sum.re = sum.re - x.re * y.re;
    sum.im = sum.im - x.re * y.im;
    sum.re = sum.re + x.im * y.im;
    sum.im = sum.im - x.im * y.re;
  } else {
    sum -= x * y;
  }
}
template <class T>
TERN_SIMD_INLINE void add(V<T>& sum, V<T> x, V<T> y) {
  if constexpr (kIsComplex<T>) {
    sum.re = sum.re + x.re * y.re;
    sum.im = sum.im + x.re * y.im;
    sum.re = sum.re - x.im * y.im;
    sum.im = sum.im + x.im * y.re;
  } else {
    sum += x * y;
  }
}

/// Division by d in two factors: the inverse of the smallest numbers overflows.
template <class T>
struct Inverse {
  V<RealPart<T>> scale;  ///< a power of two
  V<T> scaled;           ///< 1 / (d scale)

  TERN_SIMD_INLINE explicit Inverse(V<T> d) {
    if constexpr (kIsComplex<T>) {
      scale = power_below<RealPart<T>>(larger_part<T>(d)).inverse;
      const V<T> y = d * scale;
      scaled = conjugate<T>(y) * (RealPart<T>(1) / squared_size<T>(y));
    } else {
      scale = broadcast<T>(1);
      scaled = T(1) / d;
    }
  }
  /// 1 / d; infinite or NaN for the smallest d.
  TERN_SIMD_INLINE V<T> product() const {
    if constexpr (kIsComplex<T>) {
      return scaled * scale;
    } else {
      return scaled;
    }
  }
};
template <class T>
TERN_SIMD_INLINE V<T> quotient(V<T> x, V<T> d) {
  if constexpr (kIsComplex<T>) {
    const Inverse<T> inverse(d);
    return x * inverse.scale * inverse.scaled;
  } else {
    return x / d;
  }
}

/// Views a tile with contiguous columns as real: a column of m complex numbers has part_rows(m) real numbers.
template <class T>
TERN_SIMD_INLINE int part_rows(int m) {
  return kIsComplex<T> ? 2 * m : m;
}
template <class T>
TERN_SIMD_INLINE Tile<RealPart<T>> parts_of(const Tile<T>& t) {
  return {reinterpret_cast<RealPart<T>*>(t.data), 1, kIsComplex<T> ? 2 * t.column : t.column};
}
