// Part of an instruction set's file, which has said kLanes.
using Vector = float __attribute__((vector_size(kLanes * sizeof(float))));
using Quad = float __attribute__((vector_size(16)));

template <class V = Vector>
[[gnu::always_inline]] inline V load(const float* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <class V>
[[gnu::always_inline]] inline void store(float* to, V v) {
  __builtin_memcpy(to, &v, sizeof v);
}
[[gnu::always_inline]] inline Vector spread(float x) {
  return Vector{} + x;
}
