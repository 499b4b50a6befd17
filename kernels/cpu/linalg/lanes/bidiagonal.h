// Q^H A P = B, upper bidiagonal and real, of m >= n: LAPACK's gebd2.

/// Stores the vectors of left reflections below the diagonal of a, and right reflections right of the superdiagonal.
/// Right vectors and factors are conjugates: they belong to A^T, and their product is the conjugate of P. d, e [n]: the
/// diagonals of B.
template <class T>
void bidiagonalize(const Tile<T>& a, int m, int n, V<RealPart<T>>* d, V<RealPart<T>>* e, V<T>* tau_left,
                   V<T>* tau_right) {
  V<T>* x = registers<T>(a.data);
  for (int i = 0; i < n; ++i) {
    V<T>* head = x + i * (a.row + a.column);
    tau_left[i] = make_reflection<T>(*head, head + a.row, a.row, m - i - 1);
    d[i] = real_part<T>(*head);
    const int rest = n - i - 1;
    if (rest == 0) break;
    apply_reflection<T>(head + a.row, a.row, m - i - 1, conjugate<T>(tau_left[i]), head + a.column, a.row, a.column,
                        rest);
    head += a.column;
    tau_right[i] = make_reflection<T>(*head, head + a.column, a.column, rest - 1);
    e[i] = real_part<T>(*head);
    apply_reflection<T>(head + a.column, a.column, rest - 1, conjugate<T>(tau_right[i]), head + a.row, a.column, a.row,
                        m - i - 1);
  }
  e[n - 1] = V<RealPart<T>>{};
}
