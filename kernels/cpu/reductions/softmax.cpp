// softmax and log_softmax: row by row along the last axis, neighbouring lines together along other axes.
#include <cmath>
#include <limits>

#include "dtypes/levels.h"
#include "kernels/cpu/reductions/reductions.h"
#include "kernels/cpu/reductions/row_loops.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/simd/stream.h"
#include "kernels/cpu/strided.h"
#include "threads/parallel.h"

namespace tern {
namespace {

constexpr std::int64_t kRowBytes = 256 << 10;  // largest row kept in the second cache from loop to loop

/// Computes a row of adjacent elements; y may be x.
template <class T>
void softmax_row(const rows::RowLoops<T>& r, const T* x, T* y, std::int64_t n, bool log) {
  const T top = r.max(x, n);
  if (log) {
    r.shift(x, top, static_cast<T>(std::log(r.sum_exp(x, top, n))), y, n);
  } else {
    const double sum = r.exp_sum(x, top, y, n);
    r.scale(y, static_cast<T>(1 / sum), y, n);
  }
}

/// Computes a row too long for the cache: sums with a running maximum; both sweeps take parts that fit the first cache.
template <class T>
void softmax_long_row(const rows::RowLoops<T>& r, const T* x, T* y, std::int64_t n, bool log, bool past_caches) {
  constexpr std::int64_t kPart = 4096;
  constexpr T kNone = -std::numeric_limits<T>::infinity();
  T top = kNone;
  double sum = 0;
  for (std::int64_t i = 0; i < n; i += kPart) {
    const std::int64_t m = std::min(kPart, n - i);
    const T largest = std::max(top, r.max(x + i, m));
    if (largest != top) sum *= std::exp(static_cast<double>(top) - static_cast<double>(largest));
    sum += r.sum_exp(x + i, largest == kNone ? T{} : largest, m);
    top = largest;
  }
  const T by = static_cast<T>(1 / sum), less = static_cast<T>(std::log(sum));
  T made[kPart];
  for (std::int64_t i = 0; i < n; i += kPart) {
    const std::int64_t m = std::min(kPart, n - i);
    T* to = past_caches ? made : y + i;
    if (log) {
      r.shift(x + i, top, less, to, m);
    } else {
      r.exp_sum(x + i, top, to, m);
      r.scale(to, by, to, m);
    }
    if (past_caches)
      pointwise::stream(reinterpret_cast<std::byte*>(y + i), reinterpret_cast<const std::byte*>(made),
                        static_cast<std::size_t>(m) * sizeof(T));
  }
}

template <class T>
class VectorSoftmax {
 public:
  explicit VectorSoftmax(KernelCall& c)
      : x_(c.in[0]), y_(c.out[0]), axis_(axis_of(*c.node, x_.rank)), log_(c.node->integer(AttrKey::log) != 0) {}

  void run() {
    if (x_.numel() == 0) return;
    n_ = x_.size(axis_);
    xs_ = x_.stride(axis_);
    ys_ = y_.stride(axis_);
    if (ys_ == 1) {
      run_rows();
    } else {
      run_columns();
    }
  }

 private:
  void read(const std::byte* from, std::int64_t stride, T* to, std::int64_t n) {
    if (stride == 1) {
      convert(from, x_.dtype, to, dtype_of_v<T>, n);
      return;
    }
    auto* gathered = thread_buffer<std::byte>(static_cast<std::size_t>(n * x_size_), 2);
    gather_run(from, stride, gathered, n, static_cast<int>(x_size_));
    convert(gathered, x_.dtype, to, dtype_of_v<T>, n);
  }

  void run_rows() {
    const CollapsedAxes from = axes_without(x_, axis_);
    const bool large =
        y_.dtype == dtype_of_v<T> && x_.data != y_.data && y_.numel() * y_size_ >= pointwise::kStreamBytes;
    const bool is_long = n_ * static_cast<std::int64_t>(sizeof(T)) > kRowBytes;
    parallel_for(from.count, grain_for(n_ * 4), [&](std::int64_t begin, std::int64_t end) {
      const auto& r = rows::loops<T>();
      const bool in_place = x_.dtype == dtype_of_v<T> && xs_ == 1, direct = y_.dtype == dtype_of_v<T>;
      const bool in_buffer = !in_place || !direct || (large && !is_long);
      T* buffer = thread_buffer<T>(static_cast<std::size_t>(in_buffer ? n_ : 0));
      for (std::int64_t t = begin; t < end; ++t) {
        const std::byte* px = x_.data + from.offset(t) * x_size_;
        std::byte* py = y_.data + t * n_ * y_size_;
        const T* x = in_place ? reinterpret_cast<const T*>(px) : buffer;
        if (!in_place) read(px, xs_, buffer, n_);
        T* y = direct && (is_long || !large) ? reinterpret_cast<T*>(py) : buffer;
        if (is_long) {
          softmax_long_row(r, x, y, n_, log_, large);
        } else {
          softmax_row(r, x, y, n_, log_);
          if (large)
            pointwise::stream(py, reinterpret_cast<const std::byte*>(y), static_cast<std::size_t>(n_ * y_size_));
        }
        if (!direct) convert(y, dtype_of_v<T>, py, y_.dtype, n_);
      }
      if (large) pointwise::end_stream();
    });
  }

  static constexpr std::int64_t kTile = 256;

  void run_columns() {
    // y is contiguous, so lines inside the axis are neighbours in y.
    CollapsedAxes from;
    for (int i = 0; i < axis_; ++i) from.add(x_.size(i), x_.stride(i));
    CollapsedAxes inner;
    for (int i = axis_ + 1; i < x_.rank; ++i) inner.add(x_.size(i), x_.stride(i));
    const std::int64_t width = inner.count, run = inner.inner_size(), per_run = (run + kTile - 1) / kTile;
    if (width == run && 2 * width <= kTile && from.count > 1) return run_short_columns(from, inner);
    const std::int64_t per_outer = width / run * per_run;
    parallel_for(from.count * per_outer, grain_for(n_ * std::min(run, kTile) * 4),
                 [&](std::int64_t begin, std::int64_t end) {
                   T* tile = thread_buffer<T>(static_cast<std::size_t>(n_ * kTile));
                   for (std::int64_t t = begin; t < end; ++t) {
                     const std::int64_t outer = t / per_outer, rest = t % per_outer;
                     const std::int64_t first = rest % per_run * kTile, m = std::min(kTile, run - first);
                     const std::int64_t column = rest / per_run * run + first;
                     const std::byte* px = x_.data + (from.offset(outer) + inner.offset(column)) * x_size_;
                     std::byte* py = y_.data + (outer * n_ * width + column) * y_size_;
                     for (std::int64_t i = 0; i < n_; ++i)
                       read(px + i * xs_ * x_size_, inner.inner_stride(), tile + i * m, m);
                     compute_tile(tile, m);
                     for (std::int64_t i = 0; i < n_; ++i)
                       convert(tile + i * m, dtype_of_v<T>, py + i * width * y_size_, y_.dtype, m);
                   }
                 });
  }

  /// The lines of several outer positions share a tile.
  void run_short_columns(const CollapsedAxes& from, const CollapsedAxes& inner) {
    const std::int64_t width = inner.count, together = kTile / width, groups = (from.count + together - 1) / together;
    const bool is_dense = (width == 1 || inner.inner_stride() == 1) && xs_ == width;
    parallel_for(groups, grain_for(n_ * kTile * 4), [&](std::int64_t begin, std::int64_t end) {
      T* tile = thread_buffer<T>(static_cast<std::size_t>(n_ * kTile));
      T* plane = thread_buffer<T>(static_cast<std::size_t>(n_ * width), 1);
      for (std::int64_t group = begin; group < end; ++group) {
        const std::int64_t first = group * together, planes = std::min(together, from.count - first),
                           m = planes * width;
        for (std::int64_t p = 0; p < planes; ++p) {
          const std::byte* px = x_.data + from.offset(first + p) * x_size_;
          if (is_dense) {
            convert(px, x_.dtype, plane, dtype_of_v<T>, n_ * width);
          } else {
            for (std::int64_t i = 0; i < n_; ++i)
              read(px + i * xs_ * x_size_, inner.inner_stride(), plane + i * width, width);
          }
          copy_lines(plane, width, tile + p * width, m, width);
        }
        compute_tile(tile, m);
        for (std::int64_t p = 0; p < planes; ++p) {
          copy_lines(tile + p * width, m, plane, width, width);
          convert(plane, dtype_of_v<T>, y_.data + (first + p) * n_ * width * y_size_, y_.dtype, n_ * width);
        }
      }
    });
  }

  /// Copies n lines of `width` elements between two line distances.
  void copy_lines(const T* from, std::int64_t from_line, T* to, std::int64_t to_line, std::int64_t width) const {
    for (std::int64_t i = 0; i < n_; ++i, from += from_line, to += to_line) {
      for (std::int64_t j = 0; j < width; ++j) to[j] = from[j];
    }
  }

  /// Replaces n rows of m lines by the result.
  void compute_tile(T* tile, std::int64_t m) const {
    const auto& r = rows::loops<T>();
    T top[kTile], by[kTile];
    double sums[kTile];
    std::fill_n(top, m, -std::numeric_limits<T>::infinity());
    std::fill_n(sums, m, 0.0);
    for (std::int64_t i = 0; i < n_; ++i) r.max_each(top, tile + i * m, m);
    if (!log_) {
      for (std::int64_t i = 0; i < n_; ++i) r.exp_each(sums, tile + i * m, top, tile + i * m, m);
      for (std::int64_t j = 0; j < m; ++j) by[j] = static_cast<T>(1 / sums[j]);
      for (std::int64_t i = 0; i < n_; ++i) r.scale_each(tile + i * m, by, tile + i * m, m);
      return;
    }
    for (std::int64_t i = 0; i < n_; ++i) r.exp_each(sums, tile + i * m, top, by, m);
    for (std::int64_t j = 0; j < m; ++j) by[j] = static_cast<T>(std::log(sums[j]));
    visit_cpu_level([&](auto) __attribute__((always_inline)) {
      for (std::int64_t i = 0; i < n_; ++i) {
        T* row = tile + i * m;
#pragma omp simd
        for (std::int64_t j = 0; j < m; ++j) row[j] = (row[j] - top[j]) - by[j];
      }
    });
  }

  const TensorView& x_;
  const TensorView& y_;
  int axis_;
  bool log_;
  std::int64_t n_ = 0, xs_ = 0, ys_ = 0;
  std::int64_t x_size_ = element_size(x_.dtype), y_size_ = element_size(y_.dtype);
};

}  // namespace

void cpu_softmax(KernelCall& c) {
  const bool wide = c.in[0].dtype == DType::f64 || c.out[0].dtype == DType::f64;
  if (wide) {
    VectorSoftmax<double>(c).run();
  } else {
    VectorSoftmax<float>(c).run();
  }
}

}  // namespace tern
