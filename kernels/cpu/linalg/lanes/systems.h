// Systems of equations without row exchanges: each lane has its own pivots, so exchanges would take longer than all
// arithmetic. Rows of U are gathered from the lanes' pivot rows, four steps at a time; past pivot rows have factors of
// zero. Products are rounded before the subtraction (less_product), at a cost of at most 10 %.

/// The pivot row of each lane.
template <class T>
struct PivotRows {
  I<T> row;
  std::uint64_t set;  ///< a bit per row with a pivot of some lane

  PivotRows() = default;
  explicit PivotRows(I<T> pivot) : row(pivot), set(set_of(pivot)) {}

  /// Gathers the pivot rows' elements from column c on.
  template <int kN>
  TERN_SIMD_INLINE void gather(const V<T>* x, std::ptrdiff_t apart, V<T>* to) const {
    V<T> found[kN] = {};
    for (std::uint64_t rest = set; rest != 0; rest &= rest - 1) {
      const std::int64_t r = __builtin_ctzll(rest);
      const I<T> here = row == integers<T>(r);
      for (int c = 0; c < kN; ++c) found[c] = here ? x[r * apart + c] : found[c];
    }
    for (int c = 0; c < kN; ++c) to[c] = found[c];
  }

 private:
  [[gnu::noinline]] static std::uint64_t set_of(I<T> pivot) {
    std::uint64_t set = 0;
    for (int l = 0; l < kWidth<T>; ++l) set |= std::uint64_t{1} << pivot[l];
    return set;
  }
};

/// The largest magnitude so far and its row, in lanes with the row still free. Compares bits: NaN exceeds all numbers,
/// and a NaN pivot makes the whole solution NaN. Zero counts: in a column of zeros, the pivot is the zero of a free
/// row.
template <class T>
struct Largest {
  I<T> size = integers<T>(-1);
  I<T> row = {};

  TERN_SIMD_INLINE void consider(V<T> x, I<T> taken, int r) {
    const I<T> other = reinterpret_cast<I<T>>(magnitude<T>(x)) | taken, before = size;
    size = other > before ? other : before;
    row = size != before ? integers<T>(r) : row;
  }
};

/// Four columns: their factors, and the pivot rows' elements in these columns.
template <class T>
struct Panel {
  V<T>* factors;      ///< [row][4]; 0 for past pivot rows
  I<T>* past_pivots;  ///< [row]: lanes with this row as a past pivot
  int n;              ///< rows
  PivotRows<T> pivots[4];
  V<T> top[4][4];

  void factor(const V<T>* x, std::ptrdiff_t row, int begin, I<T>& info) {
    Largest<T> largest;
    for (int r = 0; r < n; ++r) largest.consider(x[r * row], past_pivots[r], r);
    pivots[0] = PivotRows<T>(largest.row);
    step(0, x, row, begin, info);
    for (int k = 1; k < 4; ++k) step(k, factors, 4, begin, info);
  }
  /// Finds the pivot of the next step, too.
  [[gnu::noinline]] void step(int number, const V<T>* x, std::ptrdiff_t row, int begin, I<T>& info) {
    const PivotRows<T>& pivot = pivots[number];
    V<T>* own_top = top[number];
    pivot.template gather<4>(x, row, own_top);
    const V<T> found = own_top[number];
    const I<T> zero = found == T(0);
    info = (zero & (info == 0)) ? integers<T>(begin + number + 1) : info;
    const Divisor<T> divisor(zero ? broadcast<T>(1) : found);
    Largest<T> largest;
    for (int r = 0; r < n; ++r) {
      int k = number;
      asm("" : "+r"(k));  // keeps the compiler from making four loops of one
      const V<T>* from = x + r * row;
      V<T>* to = factors + 4 * r;
      const I<T> none = (pivot.row == integers<T>(r)) | past_pivots[r];
      past_pivots[r] = none;
      const V<T> factor = none ? V<T>{} : divisor.quotient(from[k]);
      const auto subtract = [&](int c) { return none ? V<T>{} : less_product<T>(from[c], factor, own_top[c]); };
      if (k < 1) to[1] = subtract(1);
      if (k < 2) to[2] = subtract(2);
      if (k < 3) {
        to[3] = subtract(3);
        largest.consider(to[k + 1], none, r);
      }
      to[k] = factor;
    }
    if (number < 3) pivots[number + 1] = PivotRows<T>(largest.row);
  }
};

/// Updates kN columns beside a panel: four rows of U, and all rows minus the product of factors and U.
template <class T, int kN>
TERN_SIMD_INLINE void follow_panel(const Panel<T>& p, V<T>* x, std::ptrdiff_t row, V<T>* u, std::ptrdiff_t u_row,
                                   bool last) {
  V<T> top[4][kN];
  for (int k = 0; k < 4; ++k) {
    p.pivots[k].template gather<kN>(x, row, top[k]);
    for (int i = 0; i < k; ++i) {
      for (int c = 0; c < kN; ++c) top[k][c] = less_product<T>(top[k][c], p.top[k][i], top[i][c]);
    }
    for (int c = 0; c < kN; ++c) u[k * u_row + c] = top[k][c];
  }
  for (int r = 0; r < p.n && !last; ++r) {
    const V<T>* factors = p.factors + 4 * r;
    V<T> sum[kN];
    for (int c = 0; c < kN; ++c) sum[c] = x[r * row + c];
    for (int k = 0; k < 4; ++k) {
      for (int c = 0; c < kN; ++c) sum[c] = less_product<T>(sum[c], factors[k], top[k][c]);
    }
    for (int c = 0; c < kN; ++c) x[r * row + c] = sum[c];
  }
}
template <class T>
[[gnu::noinline]] void follow_panel(const Panel<T>& p, V<T>* x, std::ptrdiff_t row, V<T>* u, std::ptrdiff_t u_row,
                                    int columns, bool last) {
  constexpr int some = simd::kRegisters >= 32 ? 4 : 2;
  int c = 0;
  for (; c + some <= columns; c += some) follow_panel<T, some>(p, x + c, row, u + c, u_row, last);
  for (; c < columns; ++c) follow_panel<T, 1>(p, x + c, row, u + c, u_row, last);
}

template <class T>
void pad(V<T>* a, std::ptrdiff_t row, int n, int rows, V<T>* b, std::ptrdiff_t b_row, int columns) {
  for (int r = 0; r < rows; ++r) {
    for (int c = r < n ? n : 0; c < rows; ++c) a[r * row + c] = broadcast<T>(r == c);
    for (int c = 0; r >= n && c < columns; ++c) b[r * b_row + c] = V<T>{};
  }
}

template <class T>
[[gnu::noinline]] void solve_more(const Tile<T>& a, int n, const Tile<T>& b, int columns, V<T>* u, V<T>* solved,
                                  I<T>& info) {
  const int rows = padded(n);
  V<T>*x = registers<T>(a.data), *right = registers<T>(b.data), *factors = solved + rows * columns;
  Panel<T> p;
  p.factors = factors, p.past_pivots = reinterpret_cast<I<T>*>(factors + 4 * rows), p.n = rows;
  pad<T>(x, a.row, n, rows, right, b.row, columns);
  for (int r = 0; r < rows; ++r) p.past_pivots[r] = I<T>{};
  for (int begin = 0; begin < rows; begin += 4) {
    const int end = begin + 4;
    p.factor(x + begin, a.row, begin, info);
    for (int k = 0; k < 4; ++k) {
      for (int c = k; c < 4; ++c) u[(begin + k) * rows + begin + c] = p.top[k][c];
    }
    follow_panel<T>(p, x + end, a.row, u + begin * rows + end, rows, rows - end, end == rows);
    follow_panel<T>(p, right, b.row, solved + begin * columns, columns, columns, end == rows);
  }
  // U from its last row to its first is a lower triangle.
  triangular<T>({reinterpret_cast<T*>(u + (n - 1) * (rows + 1)), -rows, -1}, n, false,
                {reinterpret_cast<T*>(solved + (n - 1) * columns), -columns, 1}, columns);
}

template <class T>
Tile<T> solve(const Tile<T>& a, int n, const Tile<T>& b, int columns, T* scratch, Infos& infos) {
  I<T> info = {};
  Tile<T> result = b;
  switch (n) {
    case 1: solve_few<T, 1>(a, b, columns, info); break;
    case 2: solve_few<T, 2>(a, b, columns, info); break;
    case 3: solve_few<T, 3>(a, b, columns, info); break;
    case 4: solve_few<T, 4>(a, b, columns, info); break;
    default: {
      V<T>*u = registers<T>(scratch), *solved = u + padded(n) * padded(n);
      solve_more<T>(a, n, b, columns, u, solved, info);
      result = {reinterpret_cast<T*>(solved), columns, 1};
    }
  }
  for (int l = 0; l < kWidth<T>; ++l) infos[l] = static_cast<std::int32_t>(info[l]);
  return result;
}

template <class T>
constexpr auto solver() {
  if constexpr (simd::kFused && !kIsComplex<T>) {
    return &solve<T>;
  } else {
    return nullptr;
  }
}
