// Systems of at most four equations, in registers. Rows are exchanged pair by pair, in the affected lanes: the pivot is
// the first of the column's largest elements, as in LAPACK.

/// Returns x, protected from contraction with the next operation.
template <class T>
TERN_SIMD_INLINE V<T> rounded(V<T> x) {
#if defined(__x86_64__)
  asm("" : "+v"(x));
#elif defined(__aarch64__)
  asm("" : "+w"(x));
#endif
  return x;
}

/// x - f y, rounded twice. The result is zero for f = x / y, at least with small integers, so singular integer matrices
/// get a pivot of zero; an fma would leave the rounding error of f.
template <class T>
TERN_SIMD_INLINE V<T> less_product(V<T> x, V<T> f, V<T> y) {
  return x - rounded<T>(f * y);
}

/// Division by d in two factors: the inverse of the smallest numbers would overflow.
template <class T>
struct Divisor {
  V<T> d, scale, inverse;

  Divisor() = default;
  TERN_SIMD_INLINE explicit Divisor(V<T> by) : d(by) {
    scale = magnitude<T>(d) < 2 * Lane<T>::kLeastNormal ? broadcast<T>(T(0x1p64)) : broadcast<T>(1);
    inverse = T(1) / (d * scale);
  }
  TERN_SIMD_INLINE V<T> divide(V<T> x) const { return x * scale * inverse; }
  /// x / d, correctly rounded (Markstein), for |x| <= |d|. An infinite d gives 0 or NaN.
  TERN_SIMD_INLINE V<T> quotient(V<T> x) const {
    const V<T> q = divide(x), rest = x - q * (inverse == T(0) ? V<T>{} : d);
    return q + divide(rest);
  }
};

template <class T>
TERN_SIMD_INLINE void exchange_where(I<T> mask, V<T>& x, V<T>& y) {
  const V<T> old = x;
  x = mask ? y : x;
  y = mask ? old : y;
}

template <class T, int kN>
void solve_few(const Tile<T>& tile, const Tile<T>& b, int columns, I<T>& info) {
  V<T> a[kN][kN], factors[kN][kN];
  Divisor<T> pivots[kN];
  I<T> swaps[kN][kN];
  const V<T>* from = registers<T>(tile.data);
  for (int r = 0; r < kN; ++r) {
    for (int c = 0; c < kN; ++c) a[r][c] = from[r * tile.row + c];
  }
#pragma GCC unroll 4
  for (int j = 0; j < kN; ++j) {
    V<T> most = magnitude<T>(a[j][j]);
    I<T> pivot = integers<T>(j);
#pragma GCC unroll 4
    for (int r = j + 1; r < kN; ++r) {
      const V<T> size = magnitude<T>(a[r][j]);
      const I<T> more = size > most;
      most = more ? size : most;
      pivot = more ? integers<T>(r) : pivot;
    }
#pragma GCC unroll 4
    for (int r = j + 1; r < kN; ++r) {
      swaps[j][r] = pivot == integers<T>(r);
#pragma GCC unroll 4
      for (int c = j; c < kN; ++c) exchange_where<T>(swaps[j][r], a[j][c], a[r][c]);
    }
    const I<T> zero = a[j][j] == T(0);
    info = (zero & (info == 0)) ? integers<T>(j + 1) : info;
    pivots[j] = Divisor<T>(a[j][j]);
#pragma GCC unroll 4
    for (int r = j + 1; r < kN; ++r) {
      factors[j][r] = zero ? V<T>{} : pivots[j].quotient(a[r][j]);
#pragma GCC unroll 4
      for (int c = j + 1; c < kN; ++c) a[r][c] = less_product<T>(a[r][c], factors[j][r], a[j][c]);
    }
  }
  for (int column = 0; column < columns; ++column) {
    V<T>* at = registers<T>(b.data) + column;
    V<T> x[kN];
    for (int r = 0; r < kN; ++r) x[r] = at[r * b.row];
#pragma GCC unroll 4
    for (int j = 0; j < kN; ++j) {
#pragma GCC unroll 4
      for (int r = j + 1; r < kN; ++r) exchange_where<T>(swaps[j][r], x[j], x[r]);
#pragma GCC unroll 4
      for (int r = j + 1; r < kN; ++r) x[r] -= factors[j][r] * x[j];
    }
#pragma GCC unroll 4
    for (int r = kN - 1; r >= 0; --r) {
#pragma GCC unroll 4
      for (int c = r + 1; c < kN; ++c) x[r] -= a[r][c] * x[c];
      at[r * b.row] = x[r] = pivots[r].divide(x[r]);
    }
  }
}
