// Eigenvalues and eigenvectors of symmetric matrices: scaled, made tridiagonal, QL.

template <class T>
std::int64_t eigh_scratch(int n) {
  return 6 * std::int64_t{n};
}

/// The product of the reflections of tridiagonalize, in columns.
template <class T>
void tridiagonal_q(const V<T>* a, std::ptrdiff_t row, int n, const T* tau, const Tile<T>& to) {
  V<T>* z = registers<T>(to.data);
  for (int j = 0; j < n; ++j) {
    z[j * to.column] = spread<T>(j == 0 ? T(1) : T(0));
    z[j] = z[j * to.column];
    for (int r = j + 1; j > 0 && r < n; ++r) z[j * to.column + r] = a[r * row + j - 1];
  }
  if (n > 1) form_q<T>(part<T>(to, 1, 1), n - 1, n - 1, n - 2, tau);
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
void eigh(const Tile<T>& a, int n, T* values, std::int32_t* places, const Tile<T>& vectors, T* scratch, Infos& infos) {
  V<T>*x = registers<T>(a.data), *d = registers<T>(values), *e = registers<T>(scratch), *tau = e + n, *v = tau + n,
  *w = v + n, *cosines = w + n, *sines = cosines + n;
  Extent<T> extent;
  for (int r = 0; r < n; ++r) {
    for (int c = 0; c <= r; ++c) extent.add(x[r * a.row + c]);
  }
  const I<T> finite = extent.finite();
  const V<T> down = extent.down();
  for (int r = 0; r < n; ++r) {
    for (int c = 0; c <= r; ++c) {
      V<T>& place = x[r * a.row + c];
      place = finite ? place * down * Lane<T>::kSize : V<T>{};
    }
  }
  tridiagonalize<T>(x, a.row, n, d, e, tau, v, w);
  V<T>* z = vectors.data == nullptr ? nullptr : registers<T>(vectors.data);
  if (z != nullptr) tridiagonal_q<T>(x, a.row, n, reinterpret_cast<const T*>(tau), vectors);
  // Graded matrices have their large numbers first now. QL keeps the small ones exact if they come first.
  reverse<T>(d, n);
  reverse<T>(e, n - 1);
  V<T>* last = z == nullptr ? nullptr : z + (n - 1) * vectors.column;
  const I<T> bad = ql<T>(d, e, n, last, -vectors.column, cosines, sines) | ~finite;
  reverse<T>(d, n);
  const V<T> up = extent.up();
  for (int i = 0; i < n; ++i) d[i] = d[i] * (T(1) / Lane<T>::kSize) * up;
  sorted_places<T>(d, n, true, places);
  for (int l = 0; l < kWidth<T>; ++l) infos[l] = bad[l] != 0;
}
