#include "runtime/collective/reduce.h"

#include <algorithm>
#include <type_traits>

#include "dtypes/convert.h"

namespace tern {
namespace {

constexpr std::int64_t kReduceTile = 1024;

template <class T, class F>
void combine_elements(void* out, const void* x, const void* y, std::int64_t n, F f) {
  auto* const o = static_cast<T*>(out);
  const auto *const a = static_cast<const T*>(x), *const b = static_cast<const T*>(y);
#pragma omp simd  // -O2 alone does not vectorize this loop
  for (std::int64_t i = 0; i < n; ++i) o[i] = f(a[i], b[i]);
}

template <class T>
void select_extremum(bool is_min, void* out, const void* x, const void* y, std::int64_t n) {
  if (is_min) return combine_elements<T>(out, x, y, n, [](T a, T b) { return a <= b || a != a ? a : b; });
  combine_elements<T>(out, x, y, n, [](T a, T b) { return a >= b || a != a ? a : b; });
}

template <class T>
void add_or_multiply(bool adds, void* out, const void* x, const void* y, std::int64_t n) {
  using W = std::conditional_t<(sizeof(T) < sizeof(int)), unsigned, T>;  // int would overflow
  if (adds) return combine_elements<T>(out, x, y, n, [](T a, T b) { return static_cast<T>(W{a} + W{b}); });
  combine_elements<T>(out, x, y, n, [](T a, T b) { return static_cast<T>(W{a} * W{b}); });
}

bool is_order(ReduceOp op) {
  return op == ReduceOp::min || op == ReduceOp::max;
}

template <class T>
void join_floats(ReduceOp op, void* out, const void* x, const void* y, std::int64_t n) {
  if (is_order(op)) return select_extremum<T>(op == ReduceOp::min, out, x, y, n);
  add_or_multiply<T>(op != ReduceOp::product, out, x, y, n);
}

/// Converts tiles to another type for `work(x, y, n)`; the result replaces x.
template <class T, class Work>
void each_converted(DType t, DType wide, void* out, const void* x, const void* y, std::int64_t count, Work work) {
  T a[kReduceTile], b[kReduceTile];
  const std::int64_t size = element_size(t);
  for (std::int64_t begin = 0; begin < count; begin += kReduceTile) {
    const std::int64_t n = std::min(kReduceTile, count - begin);
    convert(static_cast<const std::byte*>(x) + begin * size, t, a, wide, n);
    convert(static_cast<const std::byte*>(y) + begin * size, t, b, wide, n);
    work(a, b, n);
    convert(a, wide, static_cast<std::byte*>(out) + begin * size, t, n);
  }
}

/// Bitwise operations are independent of the type.
void join_bits(ReduceOp op, void* out, const void* x, const void* y, std::int64_t bytes) {
  using T = std::uint8_t;
  if (op == ReduceOp::band)
    return combine_elements<T>(out, x, y, bytes, [](T a, T b) { return static_cast<T>(a & b); });
  if (op == ReduceOp::bor) return combine_elements<T>(out, x, y, bytes, [](T a, T b) { return static_cast<T>(a | b); });
  combine_elements<T>(out, x, y, bytes, [](T a, T b) { return static_cast<T>(a ^ b); });
}

/// Sums and products wrap around, with equal bits for signed and unsigned types.
void join_integers(bool adds, int size, void* out, const void* x, const void* y, std::int64_t n) {
  switch (size) {
    case 1: return add_or_multiply<std::uint8_t>(adds, out, x, y, n);
    case 2: return add_or_multiply<std::uint16_t>(adds, out, x, y, n);
    case 4: return add_or_multiply<std::uint32_t>(adds, out, x, y, n);
    default: return add_or_multiply<std::uint64_t>(adds, out, x, y, n);
  }
}

/// Maps operations on booleans to equivalent operations on 0 and 1.
ReduceOp boolean_equivalent(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::max: return ReduceOp::bor;
    case ReduceOp::product:
    case ReduceOp::min: return ReduceOp::band;
    default: return op;
  }
}

}  // namespace

void join(ReduceOp op, DType t, void* joined, const void* x, const void* y, std::int64_t count) {
  if (t == DType::f32) return join_floats<float>(op, joined, x, y, count);
  if (t == DType::f64) return join_floats<double>(op, joined, x, y, count);
  if (is_floating(t))
    return each_converted<float>(t, DType::f32, joined, x, y, count, [op](float* a, const float* b, std::int64_t n) {
      join_floats<float>(op, a, a, b, n);
    });
  if (t == DType::boolean) op = boolean_equivalent(op);
  const bool is_min = op == ReduceOp::min;
  if (is_order(op) && t == DType::u64) return select_extremum<std::uint64_t>(is_min, joined, x, y, count);
  using Wide = std::int64_t;  // holds all other integer types
  if (is_order(op))
    return each_converted<Wide>(t, DType::i64, joined, x, y, count, [is_min](Wide* a, const Wide* b, std::int64_t n) {
      select_extremum<Wide>(is_min, a, a, b, n);
    });
  if (op == ReduceOp::sum || op == ReduceOp::product)
    return join_integers(op == ReduceOp::sum, element_size(t), joined, x, y, count);
  join_bits(op, joined, x, y, count * element_size(t));
}

namespace {

/// Rounds like an operation in the type itself.
template <class F>
void each_as_double(DType t, void* x, std::int64_t count, F f) {
  double wide[kReduceTile];
  auto* to = static_cast<std::byte*>(x);
  for (std::int64_t begin = 0; begin < count; begin += kReduceTile) {
    const std::int64_t n = std::min(kReduceTile, count - begin);
    convert(to + begin * element_size(t), t, wide, DType::f64, n);
    for (std::int64_t i = 0; i < n; ++i) wide[i] = f(wide[i]);
    convert(wide, DType::f64, to + begin * element_size(t), t, n);
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
