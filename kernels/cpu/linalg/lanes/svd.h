// Singular values and vectors: scaled, made bidiagonal, QR.

template <class T>
std::int64_t svd_scratch(int m, int n) {
  return 7 * std::int64_t{n};
}

/// The products of the reflections of bidiagonalize, in columns.
template <class T>
void bidiagonal_q(const Tile<T>& a, int m, int n, const T* tau, const Tile<T>& u, int u_columns) {
  const V<T>* x = registers<T>(a.data);
  V<T>* to = registers<T>(u.data);
  for (int c = 0; c < n; ++c) {
    for (int r = c + 1; r < m; ++r) to[c * u.column + r] = x[c * a.column + r];
  }
  form_q<T>(u, m, u_columns, n, tau);
}
template <class T>
void bidiagonal_p(const Tile<T>& a, int n, const T* tau, const Tile<T>& v) {
  const V<T>* x = registers<T>(a.data);
  V<T>* to = registers<T>(v.data);
  for (int c = 0; c < n; ++c) {
    to[c * v.column] = spread<T>(c == 0 ? T(1) : T(0));
    to[c] = to[c * v.column];
    for (int r = c + 1; c > 0 && r < n; ++r) to[c * v.column + r] = x[r * a.column + c - 1];
  }
  if (n > 1) form_q<T>(part<T>(v, 1, 1), n - 1, n - 1, n - 2, tau);
}

template <class T>
void svd(const Tile<T>& a, int m, int n, T* values, std::int32_t* places, const Tile<T>& u, int u_columns,
         const Tile<T>& v, T* scratch, Infos& infos) {
  V<T>*x = registers<T>(a.data), *d = registers<T>(values), *e = registers<T>(scratch), *left = e + n,
  *right = left + n;
  const Sweep<T> turns = {right + n, right + 2 * n, right + 3 * n, right + 4 * n};
  Extent<T> extent;
  for (int c = 0; c < n; ++c) {
    for (int r = 0; r < m; ++r) extent.add(x[c * a.column + r]);
  }
  const I<T> finite = extent.finite();
  const V<T> down = extent.down();
  for (int c = 0; c < n; ++c) {
    for (int r = 0; r < m; ++r) {
      V<T>& place = x[c * a.column + r];
      place = finite ? place * down * Lane<T>::kSize : V<T>{};
    }
  }
  bidiagonalize<T>(a, m, n, d, e, left, right);
  if (u.data != nullptr) bidiagonal_q<T>(a, m, n, reinterpret_cast<const T*>(left), u, u_columns);
  if (v.data != nullptr) bidiagonal_p<T>(a, n, reinterpret_cast<const T*>(right), v);
  const I<T> bad = golub_kahan<T>(d, e, m, n, u, v, turns) | ~finite;
  const V<T> up = extent.up();
  for (int i = 0; i < n; ++i) {
    const I<T> negative = d[i] < T(0);
    for (int r = 0; v.data != nullptr && r < n; ++r) {
      V<T>& place = registers<T>(v.data)[i * v.column + r];
      place = negative ? -place : place;
    }
    d[i] = magnitude<T>(d[i]) * (T(1) / Lane<T>::kSize) * up;
  }
  sorted_places<T>(d, n, false, places);
  for (int l = 0; l < kWidth<T>; ++l) infos[l] = bad[l] != 0;
}
