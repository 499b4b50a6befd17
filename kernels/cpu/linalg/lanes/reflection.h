// Householder reflections H = 1 - tau v v^T with v = (1, x), as LAPACK's larfg and larf have them.

/// The reflection that takes (alpha, x) to (beta, 0): x becomes that of v, alpha becomes beta, and tau is returned.
/// Sums of squares are of numbers over a power of two, so that none overflows, and none that matters underflows.
template <class T>
V<T> make_reflection(V<T>& alpha, V<T>* x, std::ptrdiff_t step, int n) {
  V<T> most = magnitude<T>(alpha);
  for (int i = 0; i < n; ++i) most = larger<T>(magnitude<T>(x[i * step]), most);
  const Power<T> scale = power_below<T>(most);
  V<T> squares = {};
  for (int i = 0; i < n; ++i) {
    const V<T> y = x[i * step] * scale.inverse;
    squares += y * y;
  }
  const I<T> none = squares == T(0);  // or too small beside alpha to count
  const V<T> head = alpha * scale.inverse;
  const V<T> beta = -with_sign<T>(simd::root(head * head + squares), head);
  const V<T> factor = none ? V<T>{} : T(1) / (head - beta);
  const V<T> tau = (beta - head) / beta;
  for (int i = 0; i < n; ++i) x[i * step] = none ? V<T>{} : x[i * step] * scale.inverse * factor;
  alpha = none ? alpha : beta * scale.power;
  return none ? V<T>{} : tau;
}

template <class T, int kColumns>
TERN_SIMD_INLINE void apply_to_columns(const V<T>* x, std::ptrdiff_t step, int n, V<T> tau, V<T>* head,
                                       std::ptrdiff_t row, std::ptrdiff_t column) {
  V<T> sum[kColumns];
  for (int c = 0; c < kColumns; ++c) sum[c] = head[c * column];
  for (int i = 0; i < n; ++i) {
    const V<T> v = x[i * step];
    for (int c = 0; c < kColumns; ++c) sum[c] += v * head[(i + 1) * row + c * column];
  }
  for (int c = 0; c < kColumns; ++c) {
    sum[c] *= tau;
    head[c * column] -= sum[c];
  }
  for (int i = 0; i < n; ++i) {
    const V<T> v = x[i * step];
    for (int c = 0; c < kColumns; ++c) head[(i + 1) * row + c * column] -= v * sum[c];
  }
}

/// H times columns of n + 1 rows: those of the first row begin at `head`.
template <class T>
void apply_reflection(const V<T>* x, std::ptrdiff_t step, int n, V<T> tau, V<T>* head, std::ptrdiff_t row,
                      std::ptrdiff_t column, int columns) {
  int c = 0;
  for (; c + 4 <= columns; c += 4) apply_to_columns<T, 4>(x, step, n, tau, head + c * column, row, column);
  for (; c < columns; ++c) apply_to_columns<T, 1>(x, step, n, tau, head + c * column, row, column);
}
