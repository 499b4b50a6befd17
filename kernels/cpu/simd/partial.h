// Part of the file of an instruction set without masks.
/// The first `n` lanes of memory, zeros behind them.
inline Vector load_some(const float* from, std::int64_t n) {
  Vector v = {};
  for (int i = 0; i < n; ++i) v[i] = from[i];
  return v;
}
/// Stores the first `n` lanes, fewer than all.
inline void store_some(float* to, Vector v, std::int64_t n) {
  float lanes[kLanes];
  store(lanes, v);
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) store(to + i, load<Quad>(lanes + i));
  for (; i < n; ++i) to[i] = lanes[i];
}
/// Copies `n` floats.
inline void copy_row(const float* from, std::int64_t n, float* to) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(to + i, load(from + i));
  if (i == n) return;
  if (n >= kLanes) {
    store(to + n - kLanes, load(from + n - kLanes));
  } else if (n >= 4) {
    for (; i + 4 <= n; i += 4) store(to + i, load<Quad>(from + i));
    store(to + n - 4, load<Quad>(from + n - 4));
  } else {
    for (; i < n; ++i) to[i] = from[i];
  }
}
