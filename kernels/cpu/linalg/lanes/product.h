// x -= a u, the inner loop of the factorizations: a has at most four columns, kept in registers.

/// Rows per step: a's share takes half of the registers.
template <class T>
inline constexpr int kRows = (simd::kRegisters >= 32 ? 4 : 2) / (kIsComplex<T> ? 2 : 1);

template <class T, int kR, int kDepth, bool kConjugate>
TERN_SIMD_INLINE void subtract_rows(const V<T>* a, std::ptrdiff_t a_row, std::ptrdiff_t a_column, const V<T>* u,
                                    std::ptrdiff_t u_row, std::ptrdiff_t u_column, V<T>* x, std::ptrdiff_t x_row,
                                    std::ptrdiff_t x_column, int columns) {
  V<T> left[kR][kDepth];
  for (int r = 0; r < kR; ++r) {
    for (int k = 0; k < kDepth; ++k) left[r][k] = a[r * a_row + k * a_column];
  }
  for (int c = 0; c < columns; ++c) {
    V<T> sum[kR];
    for (int r = 0; r < kR; ++r) sum[r] = x[r * x_row + c * x_column];
    for (int k = 0; k < kDepth; ++k) {
      const V<T> given = u[k * u_row + c * u_column], right = kConjugate ? conjugate<T>(given) : given;
      for (int r = 0; r < kR; ++r) subtract<T>(sum[r], left[r][k], right);
    }
    for (int r = 0; r < kR; ++r) x[r * x_row + c * x_column] = sum[r];
  }
}

template <class T, int kDepth, bool kConjugate>
[[gnu::noinline]] void subtract_deep(const Tile<const T>& a, const Tile<const T>& u, const Tile<T>& x, int rows,
                                     int columns) {
  const V<T>*left = registers<T>(a.data), *right = registers<T>(u.data);
  V<T>* to = registers<T>(x.data);
  int r = 0;
  for (; r + kRows<T> <= rows; r += kRows<T>) {
    subtract_rows<T, kRows<T>, kDepth, kConjugate>(left + r * a.row, a.row, a.column, right, u.row, u.column,
                                                   to + r * x.row, x.row, x.column, columns);
  }
  for (; r < rows; ++r) {
    subtract_rows<T, 1, kDepth, kConjugate>(left + r * a.row, a.row, a.column, right, u.row, u.column, to + r * x.row,
                                            x.row, x.column, columns);
  }
}

/// a: rows x depth, u: depth x columns; depth is 1 to 4. `kConjugate`: conjugates u.
template <class T, bool kConjugate = false>
void subtract_product(const Tile<const T>& a, const Tile<const T>& u, const Tile<T>& x, int rows, int depth,
                      int columns) {
  if (depth == 4) return subtract_deep<T, 4, kConjugate>(a, u, x, rows, columns);
  if constexpr (kIsComplex<T>) {  // a single loop for the few last columns
    for (int k = 0; k < depth; ++k) {
      subtract_deep<T, 1, kConjugate>({a.data + k * a.column * kWidth<T>, a.row, a.column},
                                      {u.data + k * u.row * kWidth<T>, u.row, u.column}, x, rows, columns);
    }
  } else {
    switch (depth) {
      case 1: return subtract_deep<T, 1, kConjugate>(a, u, x, rows, columns);
      case 2: return subtract_deep<T, 2, kConjugate>(a, u, x, rows, columns);
      case 3: return subtract_deep<T, 3, kConjugate>(a, u, x, rows, columns);
    }
  }
}

/// Returns the view of a tile from (r, c) on.
template <class T, class U>
TERN_SIMD_INLINE Tile<T> tile_from(const Tile<U>& t, int r, int c) {
  return {t.data + (r * t.row + c * t.column) * kWidth<std::remove_const_t<T>>, t.row, t.column};
}
