// Singular values of bidiagonal matrices by QR with implicit shifts (Golub and Kahan 1965; shift from LAPACK's bdsqr).
// Each lane works on its own lowest block; a sweep covers the blocks of all lanes.

/// The lowest block of each lane not yet diagonal: rows first..last.
template <class T>
struct LowBlock {
  I<T> open;  ///< true if a block exists
  I<T> first, last;
  V<T> d_first, d_before, d_last, e_last;
  V<T> smallest, largest;  ///< magnitudes on the diagonal
};

/// Sets e to zero if negligible beside its neighbours.
template <class T>
LowBlock<T> low_block(const V<T>* d, V<T>* e, int to, int n) {
  LowBlock<T> b = {};
  I<T> ended = {};
  for (int i = to - 1; i >= 0; --i) {
    const V<T> own = magnitude<T>(d[i]), below = magnitude<T>(d[i + 1]);
    const V<T> size = Lane<T>::kEpsilon * (own + below);
    const I<T> none = magnitude<T>(e[i]) <= larger<T>(size, broadcast<T>(Lane<T>::kFloor));
    e[i] = none ? V<T>{} : e[i];
    const I<T> starts = ~none & ~b.open, stops = none & b.open & ~ended;
    b.last = starts ? integers<T>(i + 1) : b.last;
    b.d_last = starts ? d[i + 1] : b.d_last;
    b.d_before = starts ? d[i] : b.d_before;
    b.e_last = starts ? e[i] : b.e_last;
    b.smallest = starts ? below : b.smallest;
    b.largest = starts ? below : b.largest;
    b.open |= ~none;
    ended |= stops;
    b.first = stops ? integers<T>(i + 1) : b.first;
    b.d_first = stops ? d[i + 1] : b.d_first;
    const I<T> inside = b.open & ~ended;
    b.smallest = (inside & (own < b.smallest)) ? own : b.smallest;
    b.largest = (inside & (own > b.largest)) ? own : b.largest;
  }
  b.d_first = ended ? b.d_first : d[0];
  return b;
}

/// Returns the smaller singular value of (f g; 0 h), as LAPACK's las2.
template <class T>
V<T> smaller_value(V<T> f, V<T> g, V<T> h) {
  const V<T> x = magnitude<T>(f), y = magnitude<T>(h);
  const V<T> most = larger<T>(x, y), least = x < y ? x : y;
  const I<T> none = most < Lane<T>::kFloor;
  const V<T> inverse = T(1) / (none ? broadcast<T>(1) : most);
  const V<T> sum = T(1) + least * inverse, gap = (most - least) * inverse, beside = g * inverse,
             square = beside * beside;
  return none ? V<T>{} : T(2) * least / (simd::root(sum * sum + square) + simd::root(gap * gap + square));
}

/// Returns the first element of the first column of B^T B - shift^2, over d_first. The shift is zero if rounding would
/// lose the shift, or if B is singular: then a single sweep splits off the zero.
template <class T>
V<T> first_of_shifted(const LowBlock<T>& b) {
  const V<T> size = magnitude<T>(b.d_first), shift = smaller_value<T>(b.d_before, b.e_last, b.d_last);
  const I<T> without = (b.smallest <= Lane<T>::kEpsilon * b.largest) | (size < Lane<T>::kFloor) |
                       (shift * shift < Lane<T>::kEpsilon * size * size);
  const V<T> safe = without ? broadcast<T>(1) : size;
  return without ? b.d_first : copy_sign<T>(broadcast<T>(1), b.d_first) * ((size - shift) * (T(1) + shift / safe));
}

template <class T>
struct Sweep {
  V<T>*c_right, *s_right, *c_left, *s_left;
};

/// Sweeps from `low` up to `high`; rows of other lanes are not rotated.
template <class T>
void golub_kahan_sweep(V<T>* d, V<T>* e, const LowBlock<T>& b, int low, int high, const Sweep<T>& to) {
  V<T> f = first_of_shifted<T>(b), g = {};
  for (int i = low; i < high; ++i) {
    const I<T> active = b.open & (b.first <= integers<T>(i)) & (b.last > integers<T>(i));
    const I<T> begins = active & (b.first == integers<T>(i)), inner = active & (b.last > integers<T>(i + 1));
    g = begins ? e[i] : g;
    const Rotation<T> right = rotation<T>(f, g);
    if (i > low) e[i - 1] = (active & ~begins) ? right.r : e[i - 1];
    V<T> x = right.c * d[i] + right.s * e[i];
    V<T> above = right.c * e[i] - right.s * d[i];
    V<T> y = right.s * d[i + 1], below = right.c * d[i + 1];
    const Rotation<T> left = rotation<T>(x, y);
    d[i] = active ? left.r : d[i];
    x = left.c * above + left.s * below;
    d[i + 1] = active ? left.c * below - left.s * above : d[i + 1];
    f = active ? x : f;
    g = inner ? left.s * e[i + 1] : g;
    e[i + 1] = inner ? left.c * e[i + 1] : e[i + 1];
    e[i] = active ? x : e[i];
    const Rotation<T> v = normalized<T>(right), u = normalized<T>(left);
    to.c_right[i] = active ? v.c : broadcast<T>(1);
    to.s_right[i] = active ? v.s : V<T>{};
    to.c_left[i] = active ? u.c : broadcast<T>(1);
    to.s_left[i] = active ? u.s : V<T>{};
  }
}

/// Replaces d by the signed singular values; rotates the columns of u and v, if present. Returns the lanes without
/// convergence.
template <class T>
I<T> golub_kahan(V<T>* d, V<T>* e, int n, const Tile<T>& u, int u_rows, const Tile<T>& v, int v_rows,
                 const Sweep<T>& turns) {
  int high = n - 1;
  for (int sweep = 0; sweep < 30 * n; ++sweep) {
    const LowBlock<T> b = low_block<T>(d, e, high, n);
    if (!any_lane<T>(b.open)) return I<T>{};
    high = largest_lane<T>(b.last, b.open, 0);
    const int low = least_lane<T>(b.first, b.open, n - 1);
    golub_kahan_sweep<T>(d, e, b, low, high, turns);
    if (v.data != nullptr)
      sweep_columns<T, false>(registers<T>(v.data), v.column, v_rows, turns.c_right, turns.s_right, low, high);
    if (u.data != nullptr)
      sweep_columns<T, false>(registers<T>(u.data), u.column, u_rows, turns.c_left, turns.s_left, low, high);
  }
  return low_block<T>(d, e, n - 1, n).open;
}
