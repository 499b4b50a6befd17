// A = Q R by reflections, column by column, and products with the reflections: LAPACK's geqr2, org2r, orm2r.

template <class T>
void qr(const Tile<T>& a, int m, int n, T* tau) {
  V<T>* x = registers<T>(a.data);
  const int steps = m < n ? m : n;
  for (int k = 0; k < steps; ++k) {
    V<T>* head = x + k * (a.row + a.column);
    const V<T> t = make_reflection<T>(*head, head + a.row, a.row, m - k - 1);
    registers<T>(tau)[k] = t;
    apply_reflection<T>(head + a.row, a.row, m - k - 1, conjugate<T>(t), head + a.column, a.row, a.column, n - k - 1);
  }
}

template <class T>
void form_q(const Tile<T>& a, int m, int columns, int k, const T* tau) {
  V<T>* x = registers<T>(a.data);
  for (int c = k; c < columns; ++c) {
    for (int r = 0; r < m; ++r) x[r * a.row + c * a.column] = number<T>(r == c ? 1 : 0);
  }
  for (int i = k - 1; i >= 0; --i) {
    V<T>* head = x + i * (a.row + a.column);
    const V<T> t = registers<T>(tau)[i];
    apply_reflection<T>(head + a.row, a.row, m - i - 1, t, head + a.column, a.row, a.column, columns - i - 1);
    for (int r = 1; r < m - i; ++r) head[r * a.row] = head[r * a.row] * -t;
    *head = number<T>(1) - t;
    for (int r = 1; r <= i; ++r) head[-r * a.row] = V<T>{};
  }
}

template <class T>
void reflect(const Tile<const T>& v, int m, int k, const T* tau, const Tile<T>& c, int columns, bool adjoint) {
  for (int step = 0; step < k; ++step) {
    const int i = adjoint ? step : k - 1 - step;
    const V<T>* head = registers<T>(v.data) + i * (v.row + v.column);
    const V<T> t = registers<T>(tau)[i];
    apply_reflection<T>(head + v.row, v.row, m - i - 1, adjoint ? conjugate<T>(t) : t, registers<T>(c.data) + i * c.row,
                        c.row, c.column, columns);
  }
}
