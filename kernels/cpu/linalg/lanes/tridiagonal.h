// Q^T A Q = T of a symmetric matrix by reflections: LAPACK's sytd2 of the lower triangle, by rows.

/// w = A v of the lower triangle of order m.
template <class T, int kR>
TERN_SIMD_INLINE void symmetric_rows(const V<T>* a, std::ptrdiff_t row, const V<T>* v, V<T>* w, int r0) {
  V<T> sum[kR], own[kR];
  for (int r = 0; r < kR; ++r) sum[r] = V<T>{}, own[r] = v[r0 + r];
  for (int c = 0; c < r0; ++c) {
    V<T> across = w[c];
    const V<T> other = v[c];
    for (int r = 0; r < kR; ++r) {
      const V<T> x = a[(r0 + r) * row + c];
      across += x * own[r];
      sum[r] += x * other;
    }
    w[c] = across;
  }
  for (int r = 0; r < kR; ++r) {
    for (int c = 0; c < r; ++c) {
      const V<T> x = a[(r0 + r) * row + r0 + c];
      sum[r] += x * own[c];
      sum[c] += x * own[r];
    }
    sum[r] += a[(r0 + r) * row + r0 + r] * own[r];
  }
  for (int r = 0; r < kR; ++r) w[r0 + r] = sum[r];
}
template <class T>
void symmetric_times(const V<T>* a, std::ptrdiff_t row, int m, const V<T>* v, V<T>* w) {
  int r = 0;
  for (; r + 4 <= m; r += 4) symmetric_rows<T, 4>(a, row, v, w, r);
  for (; r < m; ++r) symmetric_rows<T, 1>(a, row, v, w, r);
}

/// A -= v w^T + w v^T of the lower triangle, and a little of the upper one, which nobody reads.
template <class T, int kR>
TERN_SIMD_INLINE void update_rows(V<T>* a, std::ptrdiff_t row, const V<T>* v, const V<T>* w, int r0) {
  V<T> left[kR], right[kR];
  for (int r = 0; r < kR; ++r) left[r] = v[r0 + r], right[r] = w[r0 + r];
  for (int c = 0; c < r0 + kR; ++c) {
    const V<T> x = v[c], y = w[c];
    for (int r = 0; r < kR; ++r) {
      V<T>& place = a[(r0 + r) * row + c];
      place = place - left[r] * y - right[r] * x;
    }
  }
}

/// a: lower triangle by rows, in which the vectors of the reflections are left below the diagonals. d [n], e [n]: the
/// diagonals of T. v, w [n]: scratch.
template <class T>
void tridiagonalize(V<T>* a, std::ptrdiff_t row, int n, V<T>* d, V<T>* e, V<T>* tau, V<T>* v, V<T>* w) {
  for (int i = 0; i + 1 < n; ++i) {
    const int m = n - 1 - i;
    V<T>* column = a + (i + 1) * row + i;
    for (int r = 0; r < m; ++r) v[r] = column[r * row];
    const V<T> t = tau[i] = make_reflection<T>(v[0], v + 1, 1, m - 1);
    e[i] = v[0];
    v[0] = spread<T>(1);
    for (int r = 1; r < m; ++r) column[r * row] = v[r];
    d[i] = a[i * (row + 1)];
    if (m == 1) continue;
    V<T>* rest = a + (i + 1) * (row + 1);
    symmetric_times<T>(rest, row, m, v, w);
    V<T> dot = {};
    for (int r = 0; r < m; ++r) dot += w[r] * v[r];
    const V<T> part = T(0.5) * t * t * dot;
    for (int r = 0; r < m; ++r) w[r] = t * w[r] - part * v[r];
    int r = 0;
    for (; r + 4 <= m; r += 4) update_rows<T, 4>(rest, row, v, w, r);
    for (; r < m; ++r) update_rows<T, 1>(rest, row, v, w, r);
  }
  d[n - 1] = a[(n - 1) * (row + 1)];
  e[n - 1] = V<T>{};
}
