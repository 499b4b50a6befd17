// Plane rotations, and sweeps over neighbouring columns.

/// (c s; -s c) maps (f, g) to (r, 0). Numbers with vanishing squares are far below the matrix's rounding error
/// (Lane::kSize) and stay unchanged.
template <class T>
struct Rotation {
  V<T> c, s, r;
};
template <class T>
TERN_SIMD_INLINE Rotation<T> rotation(V<T> f, V<T> g) {
  const V<T> squares = f * f + g * g;
  const I<T> tiny = squares < Lane<T>::kTiny * Lane<T>::kTiny;
  const V<T> r = simd::root(tiny ? broadcast<T>(1) : squares), inverse = T(1) / r;
  return {tiny ? broadcast<T>(1) : f * inverse, tiny ? V<T>{} : g * inverse, tiny ? f : r};
}

/// Returns the rotation with c^2 + s^2 nearer to 1, for vectors: errors of length would accumulate over many rotations.
/// The fma is exact enough to measure the error.
template <class T>
TERN_SIMD_INLINE Rotation<T> normalized(const Rotation<T>& t) {
  if (!simd::kFused) return t;
  const V<T> half = T(0.5) * (t.c * t.c + (t.s * t.s - T(1)));
  return {t.c - t.c * half, t.s - t.s * half, t.r};
}

/// Elements of a column per step: the column shared by two rotations stays in registers.
inline constexpr int kCarried = simd::kRegisters >= 32 ? 8 : 4;

template <class T, int kN, bool kDown>
TERN_SIMD_INLINE void sweep_elements(V<T>* z, std::ptrdiff_t column, const V<T>* c, const V<T>* s, int low, int high) {
  V<T> carried[kN];
  V<T>* at = z + (kDown ? high : low) * column;
  for (int k = 0; k < kN; ++k) carried[k] = at[k];
  for (int step = low; step < high; ++step) {
    const int i = kDown ? low + high - 1 - step : step;
    const V<T> cosine = c[i], sine = s[i];
    V<T>*from = z + (kDown ? i : i + 1) * column, *to = z + (kDown ? i + 1 : i) * column;
    for (int k = 0; k < kN; ++k) {
      const V<T> next = from[k];
      to[k] = cosine * carried[k] + sine * next;
      carried[k] = cosine * next - sine * carried[k];
    }
  }
  at = z + (kDown ? low : high) * column;
  for (int k = 0; k < kN; ++k) at[k] = carried[k];
}

/// Rotates columns i and i + 1 of z, each of `rows` vectors, for i from low to high - 1: x and y become c x + s y and c
/// y - s x. With kDown, for i from high - 1 to low, rotates backwards: c x - s y and c y + s x.
template <class T, bool kDown>
void sweep_columns(V<T>* z, std::ptrdiff_t column, int rows, const V<T>* c, const V<T>* s, int low, int high) {
  int r = 0;
  for (; r + kCarried <= rows; r += kCarried) sweep_elements<T, kCarried, kDown>(z + r, column, c, s, low, high);
  for (; r + 2 <= rows; r += 2) sweep_elements<T, 2, kDown>(z + r, column, c, s, low, high);
  for (; r < rows; ++r) sweep_elements<T, 1, kDown>(z + r, column, c, s, low, high);
}
