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

/// Columns of a transposed tile: four vectors of 32 bytes.
template <class T>
constexpr std::int64_t kTileColumns = 128 / sizeof(T);

/// Transposes `count` columns of d elements to tiles of kTileColumns: element i of column j is at [j /
/// kTileColumns][i][j % kTileColumns]. Missing columns of the last tile are zero.
template <class T>
void transpose_columns(const T* columns, std::int64_t d, std::int64_t count, T* tiles) {
  constexpr std::int64_t kTile = kTileColumns<T>;
  for (std::int64_t first = 0; first < count; first += kTile) {
    T* tile = tiles + first * d;
    for (std::int64_t j = 0; j < kTile; ++j) {
      const T* column = columns + (first + j) * d;
      for (std::int64_t i = 0; i < d; ++i) tile[i * kTile + j] = first + j < count ? column[i] : T(0);
    }
  }
}

/// Distances of `rows` rows (1 or 2) to all columns of the tiles. Each lane holds one column, so no sum crosses lanes.
template <class T>
void euclidean_distances(const T* const* x, int rows, const T* tiles, std::int64_t d, std::int64_t count,
                         T* const* to) {
  using Vector [[gnu::vector_size(32), gnu::aligned(sizeof(T)), gnu::may_alias]] = T;
  constexpr std::int64_t kLanes = 32 / sizeof(T), kTile = kTileColumns<T>;
  constexpr int kVectors = 4;
  visit_cpu_level([&](auto) __attribute__((always_inline)) {
    const T *row = x[0], *next = x[rows - 1];
    for (std::int64_t first = 0; first < count; first += kTile) {
      Vector sums[kVectors] = {}, next_sums[kVectors] = {};
      const T* tile = tiles + first * d;
      for (std::int64_t i = 0; i < d; ++i, tile += kTile) {
        const T a = row[i], b = next[i];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          const Vector columns = *reinterpret_cast<const Vector*>(tile + v * kLanes);
          const Vector difference = columns - a, next_difference = columns - b;
          sums[v] += difference * difference;
          next_sums[v] += next_difference * next_difference;
        }
      }
      T squares[2][kTile];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        *reinterpret_cast<Vector*>(squares[0] + v * kLanes) = sums[v];
        *reinterpret_cast<Vector*>(squares[1] + v * kLanes) = next_sums[v];
      }
      const std::int64_t used = std::min(kTile, count - first);
      for (int r = 0; r < rows; ++r) {
#pragma omp simd
        for (std::int64_t j = 0; j < used; ++j) to[r][first + j] = std::sqrt(squares[r][j]);
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
  const TensorView wide = unsqueeze_to_rank(v, out.rank);
  std::int64_t offset = 0;
  for (int i = out.rank - 3; i >= 0; --i) {
    if (wide.size(i) != 1) offset += p % out.size(i) * wide.stride(i);
    p /= out.size(i);
  }
  return offset;
}

/// Euclidean distances, two rows at a time.
template <class T>
void run_euclidean(KernelCall& c) {
  const TensorView &x = c.in[0], &y = c.in[1], &out = c.out[0];
  const std::int64_t m = out.size(out.rank - 2), n = out.size(out.rank - 1), d = x.size(x.rank - 1),
                     planes = out.numel() / (m * n),
                     padded = (n + kTileColumns<T> - 1) / kTileColumns<T> * kTileColumns<T>;
  // Transposing the columns costs about as much as one row.
  parallel_for(planes * m, std::max(grain_for(n * d), std::min<std::int64_t>(m, 8)),
               [&](std::int64_t begin, std::int64_t end) {
                 T* y_buffer = thread_buffer<T>(static_cast<std::size_t>(n * d), 0);
                 T* x_buffer = thread_buffer<T>(static_cast<std::size_t>(2 * d), 1);
                 T* out_buffer = thread_buffer<T>(static_cast<std::size_t>(2 * n), 2);
                 T* tiles = thread_buffer<T>(static_cast<std::size_t>(padded * d), 3);
                 std::int64_t plane = -1;
                 for (std::int64_t row = begin; row < end;) {
                   if (row / m != plane) {
                     plane = row / m;
                     transpose_columns(read_run(y, plane_offset(y, out, plane), n * d, y_buffer), d, n, tiles);
                   }
                   const int rows = row + 1 < end && (row + 1) / m == plane ? 2 : 1;
                   const std::int64_t at = plane_offset(x, out, plane) + row % m * d;
                   const T* from[2];
                   T* to[2];
                   for (int r = 0; r < rows; ++r) {
                     from[r] = read_run(x, at + r * d, d, x_buffer + r * d);
                     to[r] = run_target(out, (row + r) * n, out_buffer + r * n);
                   }
                   euclidean_distances(from, rows, tiles, d, n, to);
                   for (int r = 0; r < rows; ++r) write_run(out, (row + r) * n, n, to[r]);
                   row += rows;
                 }
               });
}

template <class T>
void run_as(KernelCall& c) {
  const TensorView &x = c.in[0], &y = c.in[1], &out = c.out[0];
  const double p = c.node->number(AttrKey::p);
  if (p == 2.0) return run_euclidean<T>(c);
  const std::int64_t m = out.size(out.rank - 2), n = out.size(out.rank - 1), d = x.size(x.rank - 1),
                     planes = out.numel() / (m * n);
  parallel_for(planes * m, grain_for(n * d * (p == 1.0 ? 1 : 16)), [&](std::int64_t begin, std::int64_t end) {
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
      for (std::int64_t j = 0; j < n; ++j) to[j] = distance(from, columns + j * d, d, p);
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
