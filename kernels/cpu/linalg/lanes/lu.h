// A = P L U with partial pivoting, four columns at a time. The pivot is the first of the largest magnitude, as LAPACK
// takes it, and every lane has its own.

/// Exchanges row j with row pivot[lane], in all n columns: each row that some lane wants is blended.
template <class T>
void exchange_rows(const Tile<T>& a, int j, I<T> pivot, int n) {
  constexpr int lanes = kWidth<T>;
  int rows[lanes], count = 0;
  for (int l = 0; l < lanes; ++l) {
    const int r = static_cast<int>(pivot[l]);
    bool known = r == j;
    for (int i = 0; i < count; ++i) known = known || rows[i] == r;
    if (!known) rows[count++] = r;
  }
  V<T>* x = registers<T>(a.data);
  for (int c = 0; count > 0 && c < n; ++c) {
    V<T>& first = x[j * a.row + c * a.column];
    const V<T> old = first;
    V<T> chosen = old;
    for (int i = 0; i < count; ++i) {
      V<T>& other = x[rows[i] * a.row + c * a.column];
      const I<T> here = pivot == whole<T>(rows[i]);
      chosen = here ? other : chosen;
      other = here ? old : other;
    }
    first = chosen;
  }
}

template <class T>
void lu(const Tile<T>& a, int m, int n, std::int32_t* pivots, Infos& infos) {
  constexpr int lanes = kWidth<T>;
  V<T>* x = registers<T>(a.data);
  const auto at = [&](int r, int c) -> V<T>& { return x[r * a.row + c * a.column]; };
  const int steps = m < n ? m : n;
  I<T> info = {};
  for (int begin = 0; begin < steps; begin += 4) {
    const int end = begin + 4 < steps ? begin + 4 : steps;
    for (int j = begin; j < end; ++j) {
      V<T> best = magnitude<T>(at(j, j));
      I<T> pivot = whole<T>(j);
      for (int r = j + 1; r < m; ++r) {
        const V<T> size = magnitude<T>(at(r, j));
        const I<T> more = size > best;
        best = more ? size : best;
        pivot = more ? whole<T>(r) : pivot;
      }
      for (int l = 0; l < lanes; ++l) pivots[j * lanes + l] = static_cast<std::int32_t>(pivot[l]) + 1;
      exchange_rows<T>(a, j, pivot, n);
      const I<T> zero = at(j, j) == T(0);
      info = (zero & (info == 0)) ? whole<T>(j + 1) : info;
      const V<T> divisor = zero ? spread<T>(1) : at(j, j);
      const bool small = any<T>(best < Lane<T>::kLeastNormal);  // its inverse may overflow
      const V<T> inverse = T(1) / divisor;
      for (int r = j + 1; r < m; ++r) {
        const V<T> factor = small ? at(r, j) / divisor : at(r, j) * inverse;
        at(r, j) = factor;
        for (int c = j + 1; c < end; ++c) at(r, c) -= factor * at(j, c);
      }
    }
    for (int c = end; c < n; ++c) {
      for (int r = begin + 1; r < end; ++r) {
        V<T> sum = at(r, c);
        for (int k = begin; k < r; ++k) sum -= at(r, k) * at(k, c);
        at(r, c) = sum;
      }
    }
    if (end < m && end < n) {
      subtract_product<T>(part<const T>(a, end, begin), part<const T>(a, begin, end), part<T>(a, end, end), m - end,
                          end - begin, n - end);
    }
  }
  for (int l = 0; l < lanes; ++l) infos[l] = static_cast<std::int32_t>(info[l]);
}
