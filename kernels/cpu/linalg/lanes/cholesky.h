// A = L L^T, four columns at a time: they are factored, and their product is subtracted from the rest.

template <class T>
void cholesky(const Tile<T>& a, int n, Infos& infos) {
  const std::ptrdiff_t row = a.row, column = a.column;
  V<T>* x = registers<T>(a.data);
  const auto at = [&](int r, int c) -> V<T>& { return x[r * row + c * column]; };
  I<T> info = {};
  for (int begin = 0; begin < n; begin += 4) {
    const int end = begin + 4 < n ? begin + 4 : n;
    for (int j = begin; j < end; ++j) {
      V<T> pivot = at(j, j);
      for (int k = begin; k < j; ++k) pivot -= at(j, k) * at(j, k);
      const I<T> good = pivot > T(0);
      info = (good | (info != 0)) ? info : whole<T>(j + 1);
      // A lane that failed goes on with finite numbers.
      const V<T> root = simd::root(good ? pivot : spread<T>(1));
      const V<T> inverse = good ? T(1) / root : V<T>{};
      at(j, j) = good ? root : pivot;
      for (int r = j + 1; r < n; ++r) {
        V<T> sum = at(r, j);
        for (int k = begin; k < j; ++k) sum -= at(r, k) * at(j, k);
        at(r, j) = sum * inverse;
      }
    }
    for (int r = end; r < n; r += 4) {
      const int rows = r + 4 < n ? 4 : n - r;
      const Tile<const T> right = part<const T>(a, end, begin);
      subtract_product<T>(part<const T>(a, r, begin), {right.data, right.column, right.row}, part<T>(a, r, end), rows,
                          end - begin, r + rows - end);
    }
  }
  for (int l = 0; l < kWidth<T>; ++l) infos[l] = static_cast<std::int32_t>(info[l]);
  for (int r = 0; r < n; ++r) {
    for (int c = r + 1; c < n; ++c) at(r, c) = V<T>{};
  }
}
