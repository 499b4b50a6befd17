// Steps of eigh and svd before and after iterations: scaling, a check for finite numbers, sorting.

/// Collects lanes with finite numbers in all added vectors.
template <class T>
struct Extent {
  V<T> largest = {}, zeros = {};

  TERN_SIMD_INLINE void add(V<T> x) {
    largest = larger<T>(magnitude<T>(x), largest);
    require_finite(x);
  }
  TERN_SIMD_INLINE void add(ComplexLanes<T> x) {
    add(x.re);
    add(x.im);
  }
  TERN_SIMD_INLINE void require_finite(V<T> x) { zeros += x * T(0); }
  I<T> finite() const { return zeros == T(0); }
  /// Factors to scale the largest number to about Lane::kSize, and back.
  V<T> scale_down() const { return power_below<T>(largest).inverse; }
  V<T> scale_up() const { return power_below<T>(largest).power; }
};

/// Computes places[i][lane]: the number of values before value i, in ascending or descending order.
template <class T>
void sorted_order(const V<T>* values, int n, bool ascending, std::int32_t* order) {
  for (int i = 0; i < n; ++i) {
    const V<T> own = values[i];
    I<T> before = {};
    for (int j = 0; j < n; ++j) {
      const V<T> other = values[j];
      const I<T> ahead = ascending ? other < own : other > own;
      before -= j < i ? ahead | (other == own) : ahead;
    }
    for (int l = 0; l < kWidth<T>; ++l) order[i * kWidth<T> + l] = static_cast<std::int32_t>(before[l]);
  }
}

/// Return the smallest and the largest value among the mask's lanes.
template <class T>
TERN_SIMD_INLINE int least_lane(I<T> x, I<T> mask, int otherwise) {
  int least = otherwise;
  for (int l = 0; l < kWidth<T>; ++l) {
    const int v = static_cast<int>(x[l]);
    if (mask[l] != 0 && v < least) least = v;
  }
  return least;
}
template <class T>
TERN_SIMD_INLINE int largest_lane(I<T> x, I<T> mask, int otherwise) {
  int most = otherwise;
  for (int l = 0; l < kWidth<T>; ++l) {
    const int v = static_cast<int>(x[l]);
    if (mask[l] != 0 && v > most) most = v;
  }
  return most;
}
