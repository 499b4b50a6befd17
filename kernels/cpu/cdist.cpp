// cdist: the p-norm of the differences between all pairs of rows, summed in lanes.
#include <algorithm>
#include <cmath>

#include "dtypes/levels.h"
#include "kernels/cpu/contractions.h"
#include "kernels/cpu/dense.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/windows/plane_io.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

constexpr std::int64_t kCdistLanes = 8;

/// Joins term(|x - y|) of all elements with `join`.
template <class T, class Term, class Join>
T over_row(const T* x, const T* y, std::int64_t n, Term term, Join join) {
  T lanes[kCdistLanes] = {};
  std::int64_t i = 0;
  for (; i + kCdistLanes <= n; i += kCdistLanes) {
    for (std::int64_t j = 0; j < kCdistLanes; ++j) lanes[j] = join(lanes[j], term(std::abs(x[i + j] - y[i + j])));
  }
  for (std::int64_t j = 0; i < n; ++i, ++j) lanes[j] = join(lanes[j], term(std::abs(x[i] - y[i])));
  T result = lanes[0];
  for (std::int64_t j = 1; j < kCdistLanes; ++j) result = join(result, lanes[j]);
  return result;
}

/// Distances of a row to `count` columns of d elements, four columns at a time.
template <class T>
void euclidean_distances(const T* x, const T* columns, std::int64_t d, std::int64_t count, T* to) {
  using Vector [[gnu::vector_size(64), gnu::aligned(sizeof(T)), gnu::may_alias]] = T;
  constexpr std::int64_t kLanes = 64 / sizeof(T), kColumns = 4;
  at_cpu_level([&](auto) __attribute__((always_inline)) {
    for (std::int64_t j = 0; j < count; j += kColumns) {
      const T *a = columns + j * d, *b = columns + std::min(j + 1, count - 1) * d,
              *c = columns + std::min(j + 2, count - 1) * d, *e = columns + std::min(j + 3, count - 1) * d;
      Vector sums[kColumns] = {};
      std::int64_t i = 0;
      for (; i + kLanes <= d; i += kLanes) {
        const Vector row = *reinterpret_cast<const Vector*>(x + i),
                     first = row - *reinterpret_cast<const Vector*>(a + i),
                     second = row - *reinterpret_cast<const Vector*>(b + i),
                     third = row - *reinterpret_cast<const Vector*>(c + i),
                     fourth = row - *reinterpret_cast<const Vector*>(e + i);
        sums[0] += first * first;
        sums[1] += second * second;
        sums[2] += third * third;
        sums[3] += fourth * fourth;
      }
      // Adds the lanes of each sum: four vectors of four lanes, transposed.
      using Four [[gnu::vector_size(4 * sizeof(T)), gnu::aligned(sizeof(T)), gnu::may_alias]] = T;
      Four folded[kColumns];
#pragma GCC unroll 4
      for (std::int64_t k = 0; k < kColumns; ++k) {
        if constexpr (kLanes == 16) {
          const auto half = __builtin_shufflevector(sums[k], sums[k], 0, 1, 2, 3, 4, 5, 6, 7) +
                            __builtin_shufflevector(sums[k], sums[k], 8, 9, 10, 11, 12, 13, 14, 15);
          folded[k] = __builtin_shufflevector(half, half, 0, 1, 2, 3) + __builtin_shufflevector(half, half, 4, 5, 6, 7);
        } else {
          folded[k] = __builtin_shufflevector(sums[k], sums[k], 0, 1, 2, 3) +
                      __builtin_shufflevector(sums[k], sums[k], 4, 5, 6, 7);
        }
      }
      const Four low = __builtin_shufflevector(folded[0], folded[1], 0, 4, 1, 5) +
                       __builtin_shufflevector(folded[0], folded[1], 2, 6, 3, 7),
                 high = __builtin_shufflevector(folded[2], folded[3], 0, 4, 1, 5) +
                        __builtin_shufflevector(folded[2], folded[3], 2, 6, 3, 7),
                 squares =
                     __builtin_shufflevector(low, high, 0, 1, 4, 5) + __builtin_shufflevector(low, high, 2, 3, 6, 7);
      const T* column[kColumns] = {a, b, c, e};
      for (std::int64_t k = 0; k < kColumns && j + k < count; ++k) {
        T square = squares[k];
        for (std::int64_t l = i; l < d; ++l) {
          const T difference = x[l] - column[k][l];
          square += difference * difference;
        }
        to[j + k] = std::sqrt(square);
      }
    }
  });
}

template <class T>
T distance(const T* x, const T* y, std::int64_t n, double p) {
  const auto add = [](T a, T b) { return a + b; };
  if (p == 1.0)
    return over_row(
        x, y, n, [](T d) { return d; }, add);
  if (p == 0.0)
    return over_row(
        x, y, n, [](T d) { return d != T(0) ? T(1) : T(0); }, add);
  if (std::isinf(p)) {
    return over_row(
        x, y, n, [](T d) { return d; }, [](T a, T b) { return a > b || a != a ? a : b; });
  }
  const T power = static_cast<T>(p);
  return std::pow(over_row(
                      x, y, n, [power](T d) { return std::pow(d, power); }, add),
                  T(1) / power);
}

/// Returns the offset of plane p of the result (its axes before the last two) in `v`; `v` may have fewer axes or sizes
/// of 1.
std::int64_t plane_offset(const TensorView& v, const TensorView& out, std::int64_t p) {
  const TensorView wide = with_rank(v, out.rank);
  std::int64_t offset = 0;
  for (int i = out.rank - 3; i >= 0; --i) {
    if (wide.size(i) != 1) offset += p % out.size(i) * wide.stride(i);
    p /= out.size(i);
  }
  return offset;
}

template <class T>
void run_as(KernelCall& c) {
  const TensorView &x = c.in[0], &y = c.in[1], &out = c.out[0];
  const double p = c.node->number(AttrKey::p);
  const std::int64_t m = out.size(out.rank - 2), n = out.size(out.rank - 1), d = x.size(x.rank - 1),
                     planes = out.numel() / (m * n);
  parallel_for(planes * m, grain_for(n * d * (p == 2.0 || p == 1.0 ? 1 : 16)),
               [&](std::int64_t begin, std::int64_t end) {
                 T* y_buffer = thread_buffer<T>(static_cast<std::size_t>(n * d), 0);
                 T* x_buffer = thread_buffer<T>(static_cast<std::size_t>(d), 1);
                 T* out_buffer = thread_buffer<T>(static_cast<std::size_t>(n), 2);
                 std::int64_t plane = -1;
                 const T* columns = nullptr;
                 for (std::int64_t row = begin; row < end; ++row) {
                   if (row / m != plane) {
                     plane = row / m;
                     columns = read_run(y, plane_offset(y, out, plane), n * d, y_buffer);
                   }
                   const T* from = read_run(x, plane_offset(x, out, plane) + row % m * d, d, x_buffer);
                   T* to = run_target(out, row * n, out_buffer);
                   if (p == 2.0) {
                     euclidean_distances(from, columns, d, n, to);
                   } else {
                     for (std::int64_t j = 0; j < n; ++j) to[j] = distance(from, columns + j * d, d, p);
                   }
                   write_run(out, row * n, n, to);
                 }
               });
}

void run_cdist(KernelCall& c) {
  if (c.out[0].numel() == 0) return;
  if (c.in[0].dtype == DType::f64) return run_as<double>(c);
  run_as<float>(c);
}

}  // namespace

Kernel cdist_kernel() {
  return {.run = run_cdist};
}

}  // namespace tern::cpu
