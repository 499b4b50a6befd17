// Householder reflections H = 1 - tau v v^H with v = (1, x), as in LAPACK's larfg and larf.

template <class T>
TERN_SIMD_INLINE V<T> scaled_down(V<T> x, V<RealPart<T>> by) {
  if constexpr (kIsComplex<T>) {
    return {x.re / by, x.im / by};
  } else {
    return x / by;
  }
}

/// Makes H with H^H (alpha, x) = (beta, 0) and a real beta: x becomes v's tail, alpha becomes beta; returns tau.
/// Numbers are divided by a power of two before the sum of squares, so no square overflows and no significant square
/// underflows.
template <class T>
V<T> make_reflection(V<T>& alpha, V<T>* x, std::ptrdiff_t step, int n) {
  using R = RealPart<T>;
  V<R> most = larger_part<T>(alpha);
  for (int i = 0; i < n; ++i) most = larger<R>(larger_part<T>(x[i * step]), most);
  const Power<R> scale = power_below<R>(most);
  V<R> squares = {};
  for (int i = 0; i < n; ++i) squares += squared_size<T>(x[i * step] * scale.inverse);
  const V<T> head = alpha * scale.inverse;
  if constexpr (kIsComplex<T>) squares += head.im * head.im;
  const I<T> none = squares == R(0);  // or negligible beside alpha
  const V<R> real = real_part<T>(head);
  const V<R> beta = -copy_sign<R>(simd::root(real * real + squares), real);
  const V<T> factor = select<T>(none, V<T>{}, Inverse<T>(head - from_real<T>(beta)).product());
  const V<T> tau = scaled_down<T>(from_real<T>(beta) - head, beta);
  for (int i = 0; i < n; ++i) x[i * step] = select<T>(none, V<T>{}, x[i * step] * scale.inverse * factor);
  alpha = select<T>(none, alpha, from_real<T>(beta * scale.power));
  return select<T>(none, V<T>{}, tau);
}

template <class T, int kColumns>
TERN_SIMD_INLINE void apply_to_columns(const V<T>* x, std::ptrdiff_t step, int n, V<T> tau, V<T>* head,
                                       std::ptrdiff_t row, std::ptrdiff_t column) {
  V<T> sum[kColumns];
  for (int c = 0; c < kColumns; ++c) sum[c] = head[c * column];
  for (int i = 0; i < n; ++i) {
    const V<T> v = conjugate<T>(x[i * step]);
    for (int c = 0; c < kColumns; ++c) add<T>(sum[c], v, head[(i + 1) * row + c * column]);
  }
  for (int c = 0; c < kColumns; ++c) {
    sum[c] = sum[c] * tau;
    head[c * column] = head[c * column] - sum[c];
  }
  for (int i = 0; i < n; ++i) {
    const V<T> v = x[i * step];
    for (int c = 0; c < kColumns; ++c) subtract<T>(head[(i + 1) * row + c * column], v, sum[c]);
  }
}

/// Multiplies columns of n + 1 rows by H; the first row's elements begin at `head`.
template <class T>
void apply_reflection(const V<T>* x, std::ptrdiff_t step, int n, V<T> tau, V<T>* head, std::ptrdiff_t row,
                      std::ptrdiff_t column, int columns) {
  int c = 0;
  for (; c + 4 <= columns; c += 4) apply_to_columns<T, 4>(x, step, n, tau, head + c * column, row, column);
  for (; c < columns; ++c) apply_to_columns<T, 1>(x, step, n, tau, head + c * column, row, column);
}
