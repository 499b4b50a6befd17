#include "runtime/collective/reduce.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "dtypes/convert.h"

namespace tern {
namespace {

constexpr std::int64_t kTile = 1024;

/// Integers wrap around.
template <class T, class F>
void each(T* a, const T* b, std::int64_t n, F f) {
#pragma omp simd  // -O2 alone makes no vectors of it
  for (std::int64_t i = 0; i < n; ++i) a[i] = f(a[i], b[i]);
}

template <class T>
void join_as(ReduceOp op, T* a, const T* b, std::int64_t n) {
  constexpr bool kFloat = std::is_floating_point_v<T>;
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg:
    case ReduceOp::premul_sum: return each(a, b, n, [](T x, T y) { return x + y; });
    case ReduceOp::product: return each(a, b, n, [](T x, T y) { return x * y; });
    case ReduceOp::min: return each(a, b, n, [](T x, T y) { return x <= y || x != x ? x : y; });
    case ReduceOp::max: return each(a, b, n, [](T x, T y) { return x >= y || x != x ? x : y; });
    default: break;
  }
  if constexpr (!kFloat) {
    if (op == ReduceOp::band) return each(a, b, n, [](T x, T y) { return x & y; });
    if (op == ReduceOp::bor) return each(a, b, n, [](T x, T y) { return x | y; });
    each(a, b, n, [](T x, T y) { return x ^ y; });
  }
}

/// Tiles of another type, in which `wide` is computed.
template <class T>
void join_converted(ReduceOp op, DType t, DType wide, std::byte* a, const std::byte* b, std::int64_t count) {
  T x[kTile], y[kTile];
  const std::int64_t size = element_size(t);
  for (std::int64_t at = 0; at < count; at += kTile) {
    const std::int64_t n = std::min(kTile, count - at);
    convert(a + at * size, t, x, wide, n);
    convert(b + at * size, t, y, wide, n);
    join_as(op, x, y, n);
    convert(x, wide, a + at * size, t, n);
  }
}

/// The operations on truth values that those on 0 and 1 are.
ReduceOp on_booleans(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::max: return ReduceOp::bor;
    case ReduceOp::product:
    case ReduceOp::min: return ReduceOp::band;
    default: return op;
  }
}

}  // namespace

void join(ReduceOp op, DType t, void* joined, const void* x, std::int64_t count) {
  auto* a = static_cast<std::byte*>(joined);
  const auto* b = static_cast<const std::byte*>(x);
  if (t == DType::f32) return join_as(op, static_cast<float*>(joined), static_cast<const float*>(x), count);
  if (t == DType::f64) return join_as(op, static_cast<double*>(joined), static_cast<const double*>(x), count);
  if (is_floating(t)) return join_converted<float>(op, t, DType::f32, a, b, count);
  if (t == DType::boolean) op = on_booleans(op);
  // All other integers fit into 64 bits with a sign, and what those of 64 without one wrap to has the same bits.
  const bool order = op == ReduceOp::min || op == ReduceOp::max;
  if (order && t != DType::u64) return join_converted<std::int64_t>(op, t, DType::i64, a, b, count);
  join_converted<std::uint64_t>(op, t, DType::u64, a, b, count);
}

namespace {

/// Rounds as an operation in the type itself does.
template <class F>
void each_as_double(DType t, void* x, std::int64_t count, F f) {
  double wide[kTile];
  auto* to = static_cast<std::byte*>(x);
  for (std::int64_t at = 0; at < count; at += kTile) {
    const std::int64_t n = std::min(kTile, count - at);
    convert(to + at * element_size(t), t, wide, DType::f64, n);
    for (std::int64_t i = 0; i < n; ++i) wide[i] = f(wide[i]);
    convert(wide, DType::f64, to + at * element_size(t), t, n);
  }
}

}  // namespace

void scale(DType t, void* x, std::int64_t count, double factor) {
  each_as_double(t, x, count, [factor](double v) { return v * factor; });
}

void finish(ReduceOp op, DType t, void* joined, std::int64_t count, int ranks) {
  if (op == ReduceOp::avg) each_as_double(t, joined, count, [ranks](double v) { return v / ranks; });
}

}  // namespace tern
