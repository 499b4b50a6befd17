// A = L L^H. Small matrices stay in registers, column after column; larger matrices factor four columns at a time and
// subtract their product from the remaining columns. Each element subtracts the same products in the same order.

/// Replaces column j's pivot by its root. A failed lane continues with finite numbers. Returns the multiplier of the
/// column.
template <class T>
TERN_SIMD_INLINE V<RealPart<T>> take_root(V<T>& pivot, int j, I<T>& info) {
  using R = RealPart<T>;
  const V<R> square = real_part<T>(pivot);                        // LAPACK takes the diagonal as real numbers
  const I<T> good = (square > R(0)) & (square - square == R(0));  // and finite
  info = (good | (info != 0)) ? info : integers<T>(j + 1);
  const V<R> root = simd::root(good ? square : broadcast<R>(1));
  pivot = from_real<T>(good ? root : square);
  return good ? R(1) / root : V<R>{};
}

template <class T, int kN>
[[gnu::noinline]] void cholesky_few(const Tile<T>& tile, I<T>& info) {
  V<T>* x = registers<T>(tile.data);
  V<T> a[kN][kN];
#pragma GCC unroll 8
  for (int r = 0; r < kN; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c <= r; ++c) a[r][c] = x[r * tile.row + c * tile.column];
  }
#pragma GCC unroll 8
  for (int j = 0; j < kN; ++j) {
    const V<RealPart<T>> inverse = take_root<T>(a[j][j], j, info);
#pragma GCC unroll 8
    for (int r = j + 1; r < kN; ++r) a[r][j] = a[r][j] * inverse;
#pragma GCC unroll 8
    for (int c = j + 1; c < kN; ++c) {
#pragma GCC unroll 8
      for (int r = c; r < kN; ++r) subtract<T>(a[r][c], a[r][j], conjugate<T>(a[c][j]));
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kN; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < kN; ++c) x[r * tile.row + c * tile.column] = c <= r ? a[r][c] : number<T>(0);
  }
}

template <class T>
[[gnu::noinline]] void cholesky_more(const Tile<T>& a, int n, I<T>& info) {
  const std::ptrdiff_t row = a.row, column = a.column;
  V<T>* x = registers<T>(a.data);
  const auto at = [&](int r, int c) -> V<T>& { return x[r * row + c * column]; };
  for (int begin = 0; begin < n; begin += 4) {
    const int end = begin + 4 < n ? begin + 4 : n;
    for (int j = begin; j < end; ++j) {
      V<T> pivot = at(j, j);
      for (int k = begin; k < j; ++k) subtract<T>(pivot, at(j, k), conjugate<T>(at(j, k)));
      const V<RealPart<T>> inverse = take_root<T>(pivot, j, info);
      at(j, j) = pivot;
      for (int r = j + 1; r < n; ++r) {
        V<T> sum = at(r, j);
        for (int k = begin; k < j; ++k) subtract<T>(sum, at(r, k), conjugate<T>(at(j, k)));
        at(r, j) = sum * inverse;
      }
    }
    for (int r = end; r < n; r += 4) {
      const int rows = r + 4 < n ? 4 : n - r;
      const Tile<const T> right = tile_from<const T>(a, end, begin);
      subtract_product<T, kIsComplex<T>>(tile_from<const T>(a, r, begin), {right.data, right.column, right.row},
                                         tile_from<T>(a, r, end), rows, end - begin, r + rows - end);
    }
  }
  for (int r = 0; r < n; ++r) {
    for (int c = r + 1; c < n; ++c) at(r, c) = V<T>{};
  }
}

template <class T>
bool cholesky_some(const Tile<T>& a, int n, I<T>& info) {
  switch (n) {
    case 5: cholesky_few<T, 5>(a, info); return true;
    case 6: cholesky_few<T, 6>(a, info); return true;
    case 7: cholesky_few<T, 7>(a, info); return true;
    case 8: cholesky_few<T, 8>(a, info); return true;
    default: return false;
  }
}

template <class T>
void cholesky(const Tile<T>& a, int n, Infos& infos) {
  I<T> info = {};
  switch (n) {
    case 1: cholesky_few<T, 1>(a, info); break;
    case 2: cholesky_few<T, 2>(a, info); break;
    case 3: cholesky_few<T, 3>(a, info); break;
    case 4: cholesky_few<T, 4>(a, info); break;
    default:
      if constexpr (!kIsComplex<T>) {
        if (cholesky_some<T>(a, n, info)) break;
      }
      cholesky_more<T>(a, n, info);
  }
  for (int l = 0; l < kWidth<T>; ++l) infos[l] = static_cast<std::int32_t>(info[l]);
}
