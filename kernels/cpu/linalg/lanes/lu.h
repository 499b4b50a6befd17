// A = P L U with partial pivoting, four columns at a time. The pivot is the first of the largest magnitude
// (pivot_size), as in LAPACK; every lane has its own pivots.

/// Rows with pivots for some lanes, each with the mask of these lanes.
template <class T>
struct Exchange {
  int count = 0;
  int rows[kMostLanes];
  I<T> lanes[kMostLanes];

  Exchange() = default;
  [[gnu::noinline]] Exchange(int j, I<T> pivot, std::int32_t* pivots) {
#pragma GCC unroll 1
    for (int l = 0; l < kWidth<T>; ++l) {
      const int r = static_cast<int>(pivot[l]);
      pivots[l] = r + 1;
      bool known = r == j;
      for (int i = 0; i < count && !known; ++i) known = rows[i] == r;
      if (known) continue;
      lanes[count] = pivot == integers<T>(r);
      rows[count++] = r;
    }
  }
};

template <class T, int kN>
[[gnu::noinline]] void exchange_elements(V<T>* first, V<T>* column_start, std::ptrdiff_t row, const Exchange<T>& e) {
  V<T> old[kN], chosen[kN];
  for (int c = 0; c < kN; ++c) old[c] = chosen[c] = first[c];
#pragma GCC unroll 1
  for (int i = 0; i < e.count; ++i) {
    V<T>* other = column_start + e.rows[i] * row;
    const I<T> here = e.lanes[i];
    for (int c = 0; c < kN; ++c) {
      const V<T> x = other[c];
      chosen[c] = select<T>(here, x, chosen[c]);
      other[c] = select<T>(here, old[c], x);
    }
  }
  for (int c = 0; c < kN; ++c) first[c] = chosen[c];
}

/// Completes four steps for other columns: exchanges rows and, on the right, subtracts the product of the new columns
/// of L and rows of U. A few columns at a time stay in the first-level cache.
template <class T, int kN>
[[gnu::noinline]] void finish_columns(V<T>* x, std::ptrdiff_t row, int m, int begin, int end, int column,
                                      const Exchange<T>* exchanges) {
  for (int j = begin; j < end; ++j) {
    exchange_elements<T, kN>(x + j * row + column, x + column, row, exchanges[j - begin]);
  }
  if (column < begin) return;
  for (int c = column; c < column + kN; ++c) {
    for (int r = begin + 1; r < end; ++r) {
      V<T> sum = x[r * row + c];
      for (int k = begin; k < r; ++k) subtract<T>(sum, x[r * row + k], x[k * row + c]);
      x[r * row + c] = sum;
    }
  }
  const auto at = [&](int r, int c) { return reinterpret_cast<T*>(x + r * row + c); };
  subtract_product<T>({at(end, begin), row, 1}, {at(begin, column), row, 1}, {at(end, column), row, 1}, m - end,
                      end - begin, kN);
}

/// Eliminates column j of the four from `begin` on: pivot, factors, and the following columns.
template <class T>
[[gnu::noinline]] Exchange<T> eliminate(V<T>* x, std::ptrdiff_t row, int m, int j, int begin, int end,
                                        std::int32_t* pivots, I<T>& info) {
  V<RealPart<T>> best = pivot_size<T>(x[j * (row + 1)]);
  I<T> pivot = integers<T>(j);
  for (int r = j + 1; r < m; ++r) {
    const V<RealPart<T>> size = pivot_size<T>(x[r * row + j]);
    const I<T> more = size > best;
    best = more ? size : best;
    pivot = more ? integers<T>(r) : pivot;
  }
  const Exchange<T> exchange(j, pivot, pivots);
  for (int c = begin; c < end; ++c) exchange_elements<T, 1>(x + j * row + c, x + c, row, exchange);
  const V<T>* top = x + j * row;
  const I<T> zero = is_zero<T>(top[j]);
  info = (zero & (info == 0)) ? integers<T>(j + 1) : info;
  const V<T> divisor = select<T>(zero, number<T>(1), top[j]), inverse = Inverse<T>(divisor).product();
  // The inverse of the smallest numbers may overflow. Levels without fma divide, too: 49 times 1 / 49 is not 1.
  const bool small = !simd::kFused || any_lane<T>(best < Lane<RealPart<T>>::kLeastNormal);
  for (int r = j + 1; r < m; ++r) {
    V<T>* at = x + r * row;
    V<T> factor = small ? quotient<T>(at[j], divisor) : at[j] * inverse;
    if constexpr (kIsComplex<T>) {
      // Takes a Newton step and subtracts rounded products: equal rows leave zeros, so the matrix is found singular.
      V<T> rest = at[j];
      subtract<T>(rest, factor, divisor);
      if (!small) add<T>(factor, rest, inverse);
    }
    at[j] = factor;
    for (int c = j + 1; c < end; ++c) {
      if constexpr (kIsComplex<T>) {
        at[c] = at[c] - factor * top[c];
      } else {
        at[c] -= factor * top[c];
      }
    }
  }
  return exchange;
}

template <class T>
void lu(const Tile<T>& a, int m, int n, std::int32_t* pivots, Infos& infos) {
  V<T>* x = registers<T>(a.data);
  const int steps = m < n ? m : n;
  I<T> info = {};
  for (int begin = 0; begin < steps; begin += 4) {
    const int end = begin + 4 < steps ? begin + 4 : steps;
    Exchange<T> exchanges[4];
    for (int j = begin; j < end; ++j) {
      exchanges[j - begin] = eliminate<T>(x, a.row, m, j, begin, end, pivots + j * kWidth<T>, info);
    }
    constexpr int some = (simd::kRegisters >= 32 ? 8 : 4) / (kIsComplex<T> ? 2 : 1);
    for (int c = 0; c < n;) {
      if (c == begin) c = end;
      const int rest = (c < begin ? begin : n) - c;
      if (rest >= some) {
        finish_columns<T, some>(x, a.row, m, begin, end, c, exchanges);
        c += some;
      } else if (rest > 0) {
        finish_columns<T, 1>(x, a.row, m, begin, end, c, exchanges);
        c += 1;
      }
    }
  }
  for (int l = 0; l < kWidth<T>; ++l) infos[l] = static_cast<std::int32_t>(info[l]);
}
