// Singular values and vectors: scaled, made bidiagonal, QR.

template <class T>
std::int64_t svd_scratch(int m, int n) {
  return 7 * std::int64_t{n};
}

/// Compute the products of bidiagonalize's reflections, in columns: Q, and the conjugate of P with the rows of P^H as
/// columns.
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
    to[c * v.column] = number<T>(c == 0 ? 1 : 0);
    to[c] = to[c * v.column];
    for (int r = c + 1; c > 0 && r < n; ++r) to[c * v.column + r] = x[r * a.column + c - 1];
  }
  // The last reflection makes a complex number real.
  if (n > 1) form_q<T>(tile_from<T>(v, 1, 1), n - 1, n - 1, kIsComplex<T> ? n - 1 : n - 2, tau);
}

template <class T>
void svd(const Tile<T>& a, int m, int n, RealPart<T>* values, std::int32_t* order, const Tile<T>& u, int u_columns,
         const Tile<T>& v, T* scratch, Infos& infos) {
  using R = RealPart<T>;
  V<T>*x = registers<T>(a.data), *left = registers<T>(scratch), *right = left + n;
  V<R>*d = registers<R>(values), *e = reinterpret_cast<V<R>*>(right + n);
  const Sweep<R> turns = {e + n, e + 2 * n, e + 3 * n, e + 4 * n};
  Extent<R> extent;
  for (int c = 0; c < n; ++c) {
    for (int r = 0; r < m; ++r) extent.add(x[c * a.column + r]);
  }
  const I<T> finite = extent.finite();
  const V<R> down = extent.scale_down();
  for (int c = 0; c < n; ++c) {
    for (int r = 0; r < m; ++r) {
      V<T>& place = x[c * a.column + r];
      place = select<T>(finite, place * down * broadcast<R>(Lane<R>::kSize), V<T>{});
    }
  }
  bidiagonalize<T>(a, m, n, d, e, left, right);
  if (u.data != nullptr) bidiagonal_q<T>(a, m, n, reinterpret_cast<const T*>(left), u, u_columns);
  if (v.data != nullptr) bidiagonal_p<T>(a, n, reinterpret_cast<const T*>(right), v);
  const I<T> bad =
      golub_kahan<R>(d, e, n, parts_of<T>(u), part_rows<T>(m), parts_of<T>(v), part_rows<T>(n), turns) | ~finite;
  const V<R> up = extent.scale_up();
  for (int i = 0; i < n; ++i) {
    const I<T> negative = d[i] < R(0);
    for (int r = 0; v.data != nullptr && r < n; ++r) {
      V<T>& place = registers<T>(v.data)[i * v.column + r];
      place = select<T>(negative, -place, place);
    }
    d[i] = magnitude<R>(d[i]) * (R(1) / Lane<R>::kSize) * up;
  }
  sorted_order<R>(d, n, false, order);
  for (int l = 0; l < kWidth<T>; ++l) infos[l] = bad[l] != 0;
}
