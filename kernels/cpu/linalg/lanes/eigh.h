// Eigenvalues and eigenvectors of hermitian matrices: scaled, made tridiagonal, QL.

template <class T>
std::int64_t eigh_scratch(int n) {
  return 6 * std::int64_t{n};
}

/// Forms the product of tridiagonalize's reflections, in columns.
template <class T>
void tridiagonal_q(const V<T>* a, std::ptrdiff_t row, int n, const T* tau, const Tile<T>& to) {
  V<T>* z = registers<T>(to.data);
  for (int j = 0; j < n; ++j) {
    z[j * to.column] = number<T>(j == 0 ? 1 : 0);
    z[j] = z[j * to.column];
    for (int r = j + 1; j > 0 && r < n; ++r) z[j * to.column + r] = a[r * row + j - 1];
  }
  // The last reflection makes a complex number real.
  if (n > 1) form_q<T>(tile_from<T>(to, 1, 1), n - 1, n - 1, kIsComplex<T> ? n - 1 : n - 2, tau);
}

template <class T>
void reverse(V<T>* x, int n) {
  for (int i = 0; i < n / 2; ++i) {
    const V<T> first = x[i];
    x[i] = x[n - 1 - i];
    x[n - 1 - i] = first;
  }
}

template <class T>
void eigh(const Tile<T>& a, int n, RealPart<T>* values, std::int32_t* order, const Tile<T>& vectors, T* scratch,
          Infos& infos) {
  using R = RealPart<T>;
  V<T>*x = registers<T>(a.data), *tau = registers<T>(scratch), *v = tau + n, *w = v + n;
  V<R>*d = registers<R>(values), *e = reinterpret_cast<V<R>*>(w + n), *cosines = e + n, *sines = cosines + n;
  Extent<R> extent;
  for (int r = 0; r < n; ++r) {
    V<T>& diagonal = x[r * (a.row + 1)];
    if constexpr (kIsComplex<T>) extent.require_finite(diagonal.im);  // never read below
    diagonal = from_real<T>(real_part<T>(diagonal));
    for (int c = 0; c <= r; ++c) extent.add(x[r * a.row + c]);
  }
  const I<T> finite = extent.finite();
  const V<R> down = extent.scale_down();
  for (int r = 0; r < n; ++r) {
    for (int c = 0; c <= r; ++c) {
      V<T>& place = x[r * a.row + c];
      place = select<T>(finite, place * down * broadcast<R>(Lane<R>::kSize), V<T>{});
    }
  }
  tridiagonalize<T>(x, a.row, n, d, e, tau, v, w);
  V<T>* z = vectors.data == nullptr ? nullptr : registers<T>(vectors.data);
  if (z != nullptr) tridiagonal_q<T>(x, a.row, n, reinterpret_cast<const T*>(tau), vectors);
  // Graded matrices now have large numbers first. QL keeps small numbers exact if small numbers come first.
  reverse<R>(d, n);
  reverse<R>(e, n - 1);
  const Tile<R> parts = parts_of<T>(vectors);
  V<R>* last = z == nullptr ? nullptr : registers<R>(parts.data) + (n - 1) * parts.column;
  const I<T> bad = ql<R>(d, e, n, last, -parts.column, part_rows<T>(n), cosines, sines) | ~finite;
  reverse<R>(d, n);
  const V<R> up = extent.scale_up();
  for (int i = 0; i < n; ++i) d[i] = d[i] * (R(1) / Lane<R>::kSize) * up;
  sorted_order<R>(d, n, true, order);
  for (int l = 0; l < kWidth<T>; ++l) infos[l] = bad[l] != 0;
}
