// Eigenvalues of tridiagonal matrices by QL with implicit shifts (EISPACK's imtql2; Wilkinson, Reinsch, Handbook for
// Automatic Computation II/3). Each lane works on its own topmost block; a sweep covers the blocks of all lanes.

/// The topmost block of each lane not yet diagonal: rows first..last.
template <class T>
struct TopBlock {
  I<T> open;  ///< true if a block exists
  I<T> first, last;
  V<T> d_first, d_second, d_last, e_first;
};

/// Sets e to zero if negligible beside its neighbours.
template <class T>
TopBlock<T> top_block(const V<T>* d, V<T>* e, int from, int n) {
  TopBlock<T> b = {{}, {}, {}, {}, {}, {}, broadcast<T>(1)};
  I<T> ended = {};
  for (int i = from; i + 1 < n; ++i) {
    const V<T> size = Lane<T>::kEpsilon * (magnitude<T>(d[i]) + magnitude<T>(d[i + 1]));
    const I<T> none = magnitude<T>(e[i]) <= larger<T>(size, broadcast<T>(Lane<T>::kFloor));
    e[i] = none ? V<T>{} : e[i];
    const I<T> starts = ~none & ~b.open, stops = none & b.open & ~ended;
    b.first = starts ? integers<T>(i) : b.first;
    b.d_first = starts ? d[i] : b.d_first;
    b.d_second = starts ? d[i + 1] : b.d_second;
    b.e_first = starts ? e[i] : b.e_first;
    b.open |= ~none;
    b.last = stops ? integers<T>(i) : b.last;
    b.d_last = stops ? d[i] : b.d_last;
    ended |= stops;
  }
  b.last = ended ? b.last : integers<T>(n - 1);
  b.d_last = ended ? b.d_last : d[n - 1];
  return b;
}

/// Sweeps from `high` down to `low` and stores rotations in c and s; rows of other lanes are not rotated.
template <class T>
void ql_sweep(V<T>* d, V<T>* e, const TopBlock<T>& b, int low, int high, V<T>* cosines, V<T>* sines) {
  V<T> g = (b.d_second - b.d_first) / (T(2) * b.e_first);
  g = b.d_last - b.d_first + b.e_first / (g + copy_sign<T>(simd::root(g * g + T(1)), g));
  V<T> s = broadcast<T>(1), c = s, p = {};
  for (int i = high - 1; i >= low; --i) {
    const I<T> active = b.open & (b.first <= integers<T>(i)) & (b.last > integers<T>(i));
    const V<T> x = c * e[i];
    const Rotation<T> turn = rotation<T>(g, s * e[i]);
    e[i + 1] = (active & (b.last > integers<T>(i + 1))) ? turn.r : e[i + 1];
    const V<T> shifted = d[i + 1] - p, r = (d[i] - shifted) * turn.s + T(2) * turn.c * x;
    p = active ? turn.s * r : p;
    d[i + 1] = active ? shifted + p : d[i + 1];
    g = active ? turn.c * r - x : g;
    c = active ? turn.c : c;
    s = active ? turn.s : s;
    const Rotation<T> exact = normalized<T>(turn);
    cosines[i] = active ? exact.c : broadcast<T>(1);
    sines[i] = active ? exact.s : V<T>{};
    const I<T> ends = active & (b.first == integers<T>(i));
    d[i] = ends ? d[i] - p : d[i];
    e[i] = ends ? g : e[i];
  }
}

/// Replaces d by the eigenvalues and rotates the columns of z, if present. Returns the lanes without convergence.
template <class T>
I<T> ql(V<T>* d, V<T>* e, int n, V<T>* z, std::ptrdiff_t z_column, int z_rows, V<T>* cosines, V<T>* sines) {
  int low = 0;
  for (int sweep = 0; sweep < 30 * n; ++sweep) {
    const TopBlock<T> b = top_block<T>(d, e, low, n);
    if (!any_lane<T>(b.open)) return I<T>{};
    low = least_lane<T>(b.first, b.open, n - 1);
    const int high = largest_lane<T>(b.last, b.open, 0);
    ql_sweep<T>(d, e, b, low, high, cosines, sines);
    if (z != nullptr) sweep_columns<T, true>(z, z_column, z_rows, cosines, sines, low, high);
  }
  return top_block<T>(d, e, 0, n).open;
}
