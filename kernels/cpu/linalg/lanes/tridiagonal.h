// Q^H A Q = T of a hermitian matrix by reflections, T real: LAPACK's sytd2 and hetd2 of the lower triangle, by rows.

/// Computes w = A v of the lower triangle of order m.
template <class T, int kR>
TERN_SIMD_INLINE void symmetric_rows(const V<T>* a, std::ptrdiff_t row, const V<T>* v, V<T>* w, int r0) {
  V<T> sum[kR], own[kR];
  for (int r = 0; r < kR; ++r) sum[r] = V<T>{}, own[r] = v[r0 + r];
  for (int c = 0; c < r0; ++c) {
    V<T> across = w[c];
    const V<T> other = v[c];
    for (int r = 0; r < kR; ++r) {
      const V<T> x = a[(r0 + r) * row + c];
      add<T>(across, conjugate<T>(x), own[r]);
      add<T>(sum[r], x, other);
    }
    w[c] = across;
  }
  for (int r = 0; r < kR; ++r) {
    for (int c = 0; c < r; ++c) {
      const V<T> x = a[(r0 + r) * row + r0 + c];
      add<T>(sum[r], x, own[c]);
      add<T>(sum[c], conjugate<T>(x), own[r]);
    }
    add<T>(sum[r], a[(r0 + r) * row + r0 + r], own[r]);
  }
  for (int r = 0; r < kR; ++r) w[r0 + r] = sum[r];
}
template <class T>
void symmetric_times(const V<T>* a, std::ptrdiff_t row, int m, const V<T>* v, V<T>* w) {
  int r = 0;
  for (; r + 4 <= m; r += 4) symmetric_rows<T, 4>(a, row, v, w, r);
  for (; r < m; ++r) symmetric_rows<T, 1>(a, row, v, w, r);
}

/// A -= v w^H + w v^H in the lower triangle, and in a small unused area of the upper.
template <class T, int kR>
TERN_SIMD_INLINE void update_rows(V<T>* a, std::ptrdiff_t row, const V<T>* v, const V<T>* w, int r0) {
  V<T> left[kR], right[kR];
  for (int r = 0; r < kR; ++r) left[r] = v[r0 + r], right[r] = w[r0 + r];
  for (int c = 0; c < r0 + kR; ++c) {
    const V<T> x = conjugate<T>(v[c]), y = conjugate<T>(w[c]);
    for (int r = 0; r < kR; ++r) {
      V<T>& place = a[(r0 + r) * row + c];
      subtract<T>(place, left[r], y);
      subtract<T>(place, right[r], x);
    }
  }
}

/// sum += the real part of x conj(y).
template <class T>
TERN_SIMD_INLINE void add_product(V<RealPart<T>>& sum, V<T> x, V<T> y) {
  if constexpr (kIsComplex<T>) {
    sum = sum + x.re * y.re;
    sum = sum + x.im * y.im;
  } else {
    sum += x * y;
  }
}

/// a: lower triangle in rows; receives the vectors of the reflections below the diagonals. d [n], e [n]: the diagonals
/// of T. v, w [n]: scratch.
template <class T>
void tridiagonalize(V<T>* a, std::ptrdiff_t row, int n, V<RealPart<T>>* d, V<RealPart<T>>* e, V<T>* tau, V<T>* v,
                    V<T>* w) {
  using R = RealPart<T>;
  for (int i = 0; i + 1 < n; ++i) {
    const int m = n - 1 - i;
    V<T>* column = a + (i + 1) * row + i;
    for (int r = 0; r < m; ++r) v[r] = column[r * row];
    const V<T> t = tau[i] = make_reflection<T>(v[0], v + 1, 1, m - 1);
    e[i] = real_part<T>(v[0]);
    v[0] = number<T>(1);
    for (int r = 1; r < m; ++r) column[r * row] = v[r];
    d[i] = real_part<T>(a[i * (row + 1)]);
    if (m == 1) continue;  // a 1 x 1 matrix stays unchanged
    V<T>* rest = a + (i + 1) * (row + 1);
    symmetric_times<T>(rest, row, m, v, w);
    V<R> dot = {};  // v^H A v is real
    for (int r = 0; r < m; ++r) add_product<T>(dot, w[r], v[r]);
    const V<R> part = R(0.5) * squared_size<T>(t) * dot;
    for (int r = 0; r < m; ++r) w[r] = t * w[r] - v[r] * part;
    int r = 0;
    for (; r + 4 <= m; r += 4) update_rows<T, 4>(rest, row, v, w, r);
    for (; r < m; ++r) update_rows<T, 1>(rest, row, v, w, r);
  }
  d[n - 1] = real_part<T>(a[(n - 1) * (row + 1)]);
  e[n - 1] = V<R>{};
}
