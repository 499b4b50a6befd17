// Forward substitution. Negative strides turn an upper triangle into a lower; exchanged strides transpose.

template <class T>
void triangular(const Tile<const T>& a, int n, bool unit, const Tile<T>& x, int columns) {
  const V<T>* left = registers<T>(a.data);
  V<T>* to = registers<T>(x.data);
  for (int begin = 0; begin < n; begin += 4) {
    const int count = begin + 4 < n ? 4 : n - begin;
    V<T> factors[4][4], inverse[4];
    bool small = false;
    for (int r = 0; r < count; ++r) {
      for (int c = 0; c <= r; ++c) factors[r][c] = left[(begin + r) * a.row + (begin + c) * a.column];
      inverse[r] = Inverse<T>(factors[r][r]).product();
      small = small || any_lane<T>(larger_part<T>(factors[r][r]) < 2 * Lane<RealPart<T>>::kLeastNormal);
    }
    small = small || columns == 1;  // divides: inverses of the smallest numbers overflow
    for (int c = 0; c < columns; ++c) {
      V<T> solved[4];
      for (int r = 0; r < count; ++r) {
        V<T>& place = to[(begin + r) * x.row + c * x.column];
        V<T> sum = place;
        for (int k = 0; k < r; ++k) subtract<T>(sum, factors[r][k], solved[k]);
        if (!unit) sum = small ? quotient<T>(sum, factors[r][r]) : sum * inverse[r];
        place = solved[r] = sum;
      }
    }
    const int end = begin + count;
    if (end < n) {
      subtract_product<T>(tile_from<const T>(a, end, begin), tile_from<const T>(x, begin, 0), tile_from<T>(x, end, 0),
                          n - end, count, columns);
    }
  }
}
