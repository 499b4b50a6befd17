// grid_sample: finds the input elements around each grid position and their weights once, then applies these to every
// channel.
#include <tern/error.h>

#include <cmath>
#include <limits>
#include <string>

#include "dtypes/levels.h"
#include "dtypes/storage.h"
#include "kernels/cpu/contractions.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/windows/rounded.h"
#include "schema/window_kinds.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

/// The intermediate type of conversions from an element to T.
template <class T>
using float_of = std::conditional_t<std::is_same_v<T, double>, double, float>;

struct Rules {
  GridMode mode;
  GridPadding padding;
  bool align_corners;
  int axes;
};

using std::abs;
using std::floor;
using std::nearbyint;
using std::trunc;

/// Maps -1..1 to 0..size-1.
template <class T>
T unnormalised(T x, std::int64_t size, bool align_corners) {
  if (align_corners) return (x + T(1)) * (T(size - 1) / T(2));
  return (x + T(1)) * (T(size) / T(2)) - T(0.5);
}

/// Reflects x at low and at low + span until inside.
template <class T>
T reflected(T x, T low, T span) {
  if (span == T(0)) return T(0);
  const T distance = abs(x - low), twice = span * T(2);
  const T rest = distance - trunc(distance / twice) * twice;
  return std::min(rest, twice - rest) + low;
}

template <class T>
bool is_unordered(T x) {
  return std::isnan(static_cast<float_of<T>>(x));
}

/// Moves x inside according to the padding. NaN becomes position 0 in images and size - 1 in volumes.
template <class T>
T padded(T x, std::int64_t size, const Rules& r) {
  if (r.padding == GridPadding::reflection) {
    x = r.align_corners ? reflected(x, T(0), T(size - 1)) : reflected(x, T(-0.5), T(size));
  }
  if (r.padding == GridPadding::zeros) return x;
  return is_unordered(x) && r.axes == 3 ? T(size - 1) : std::min(std::max(T(0), x), T(size - 1));
}

/// Maps NaN, and numbers too large for an integer, to a position outside.
template <class T>
T bounded(T x) {
  return abs(x) < T(1e9) ? x : T(-100);
}

/// Elements of the plane (-1: outside, zero) in rows, with weights: the result is the sum of row sums times `row`.
template <class T>
struct Samples {
  int rows = 1, columns = 0;
  std::array<std::int64_t, 16> index{};
  std::array<T, 16> weight{};
  std::array<T, 4> row{};
};

template <class T>
void cubic_weights(T t, T* w) {
  const T a = T(-0.75), one = T(1);
  const auto near = [&](T x) { return ((a + T(2)) * x - (a + T(3))) * x * x + one; };
  const auto far = [&](T x) { return ((a * x - T(5) * a) * x + T(8) * a) * x - T(4) * a; };
  w[0] = far(t + one);
  w[1] = near(t);
  w[2] = near(one - t);
  w[3] = far(T(2) - t);
}

/// Makes the sum NaN: PyTorch multiplies even elements outside the image, zeros, by NaN weights.
template <class T>
void find_nan(T nan, Samples<T>& s) {
  s.rows = s.columns = 1;
  s.index[0] = 0;
  s.weight[0] = nan;
}

template <class T>
void find_cubic(const T* at, const std::int64_t* size, const Rules& r, Samples<T>& s) {
  T weight[2][4];
  std::int64_t pixels[2][4];
  for (int axis = 0; axis < 2; ++axis) {
    const T x = unnormalised(at[axis], size[axis], r.align_corners), low = floor(x), rest = x - low;
    if (is_unordered(rest)) return find_nan(rest, s);
    cubic_weights(rest, weight[axis]);
    for (int i = 0; i < 4; ++i) {
      pixels[axis][i] = static_cast<std::int64_t>(bounded(padded(low + T(i - 1), size[axis], r)));
    }
  }
  s.rows = s.columns = 4;
  for (int j = 0; j < 4; ++j) {
    s.row[static_cast<std::size_t>(j)] = weight[1][j];
    for (int i = 0; i < 4; ++i) {
      const std::int64_t x = pixels[0][i], y = pixels[1][j];
      const bool inside = x >= 0 && x < size[0] && y >= 0 && y < size[1];
      s.index[static_cast<std::size_t>(4 * j + i)] = inside ? y * size[0] + x : -1;
      s.weight[static_cast<std::size_t>(4 * j + i)] = weight[0][i];
    }
  }
}

/// `at` and `size` have the innermost axis first.
template <class T>
void find(const T* at, const std::int64_t* size, int axes, const Rules& r, Samples<T>& s) {
  if (r.mode == GridMode::cubic) return find_cubic(at, size, r, s);
  std::int64_t low[3] = {0, 0, 0};
  T rest[3] = {T(0), T(0), T(0)};
  for (int axis = 0; axis < axes; ++axis) {
    const T position = padded(unnormalised(at[axis], size[axis], r.align_corners), size[axis], r);
    if (r.mode == GridMode::linear && axes == 2 && is_unordered(position - position))
      return find_nan(position - position, s);
    const T x = bounded(position);
    const T whole = r.mode == GridMode::nearest ? nearbyint(x) : floor(x);
    low[axis] = static_cast<std::int64_t>(whole);
    rest[axis] = x - whole;
  }
  s.rows = 1;
  s.row[0] = T(1);
  s.columns = r.mode == GridMode::nearest ? 1 : 1 << axes;
  for (int k = 0; k < s.columns; ++k) {
    std::int64_t index = 0;
    T weight = T(1);
    bool inside = true;
    for (int axis = axes - 1; axis >= 0; --axis) {
      const int up = k >> axis & 1;
      const std::int64_t x = low[axis] + up;
      inside = inside && x >= 0 && x < size[axis];
      index = index * size[axis] + x;
      if (r.mode == GridMode::linear) weight *= up != 0 ? rest[axis] : T(1) - rest[axis];
    }
    s.index[static_cast<std::size_t>(k)] = inside ? index : -1;
    s.weight[static_cast<std::size_t>(k)] = weight;
  }
}

/// `zero` starts each sum; -0 keeps the sign of a single element.
template <class T, class Element>
T apply(const Samples<T>& s, const Element* plane, T zero) {
  T sum = zero;
  for (int j = 0; j < s.rows; ++j) {
    T row = zero;
    for (int i = 0; i < s.columns; ++i) {
      const auto k = static_cast<std::size_t>(j * s.columns + i);
      row += s.index[k] >= 0 ? T(static_cast<float_of<T>>(plane[s.index[k]])) * s.weight[k] : T(0);
    }
    sum += s.rows == 1 ? row : row * s.row[static_cast<std::size_t>(j)];
  }
  return sum;
}

constexpr std::int64_t kBlockPoints = 128;

/// Taps of a block of points: places along each axis (the innermost first) with their weights, then elements of the
/// plane. Elements outside have index 0 and a cleared `inside`.
template <class T>
struct SampleBlock {
  int taps = 1;  ///< along an axis
  std::int64_t points = 0;
  bool are_all_inside = true, has_nan = false;
  std::int32_t pixels[2][4][kBlockPoints];
  T axis_weight[2][4][kBlockPoints];
  std::int32_t index[16][kBlockPoints], inside[16][kBlockPoints];  ///< `inside`: -1 or 0
  T weight[4][kBlockPoints];          ///< products of two axes' weights, but not of cubic ones
  std::int32_t is_nan[kBlockPoints];  ///< points whose weights are NaN
};

template <class T>
[[gnu::always_inline]] inline T magnitude(T x) {
  return x < T(0) ? -x : x;
}

/// Positions of this magnitude have no fraction.
template <class T>
inline constexpr T kNoFraction = std::is_same_v<T, float> ? T(1 << 23) : T(1e9);

/// Moves positions inside according to the padding, like `padded`.
template <class T>
[[gnu::always_inline]] inline void pad_positions(T* x, std::int64_t n, std::int64_t size, const Rules& r) {
  if (r.padding == GridPadding::zeros) return;
  const T last = T(size - 1);
  if (r.padding == GridPadding::reflection) {
    const T low = r.align_corners ? T(0) : T(-0.5), span = r.align_corners ? last : T(size), twice = span * T(2);
    if (span == T(0)) {
      std::fill_n(x, n, T(0));
    } else {
#pragma omp simd
      for (std::int64_t p = 0; p < n; ++p) {
        const T distance = magnitude(x[p] - low), turns = distance / twice;
        const T whole = turns < kNoFraction<T> ? static_cast<T>(static_cast<std::int32_t>(turns)) : turns;
        const T rest = distance - whole * twice, back = twice - rest;
        x[p] = (back < rest ? back : rest) + low;
      }
    }
  }
#pragma omp simd
  for (std::int64_t p = 0; p < n; ++p) {
    const T positive = x[p] > T(0) ? x[p] : T(0);
    x[p] = last < positive ? last : positive;
  }
}

/// Converts whole positions to places; numbers too large for an integer lie outside.
template <class T>
[[gnu::always_inline]] inline void place_positions(const T* x, std::int64_t n, std::int32_t* pixels) {
#pragma omp simd
  for (std::int64_t p = 0; p < n; ++p) pixels[p] = static_cast<std::int32_t>(magnitude(x[p]) < T(1e9) ? x[p] : T(-100));
}

/// Finds the taps along an axis. The grid's positions are two elements apart.
template <class T>
[[gnu::always_inline]] inline void find_axis_taps(const T* at, std::int64_t size, const Rules& r, int axis,
                                                  SampleBlock<T>& b) {
  const std::int64_t n = b.points;
  T x[kBlockPoints], low[kBlockPoints], rest[kBlockPoints];
  const T scale = r.align_corners ? T(size - 1) / T(2) : T(size) / T(2), shift = r.align_corners ? T(0) : T(0.5);
#pragma omp simd
  for (std::int64_t p = 0; p < n; ++p) x[p] = (at[2 * p] + T(1)) * scale - shift;
  auto& weight = b.axis_weight[axis];
  auto& pixels = b.pixels[axis];
  if (r.mode != GridMode::cubic) pad_positions(x, n, size, r);
  place_positions(x, n, pixels[0]);
#pragma omp simd
  for (std::int64_t p = 0; p < n; ++p) {
    const T truncated = static_cast<T>(pixels[0][p]), floor = truncated > x[p] ? truncated - T(1) : truncated;
    low[p] = magnitude(x[p]) < kNoFraction<T> ? floor : x[p];
    rest[p] = x[p] - low[p];
    b.is_nan[p] |= rest[p] != rest[p] ? 1 : 0;
  }
  if (r.mode == GridMode::nearest) {
    // Halves round to even.
    place_positions(low, n, pixels[0]);
#pragma omp simd
    for (std::int64_t p = 0; p < n; ++p) {
      const std::int32_t is_above = rest[p] > T(0.5) ? 1 : 0, is_half = rest[p] == T(0.5) ? 1 : 0;
      pixels[0][p] += is_above | (is_half & pixels[0][p] & 1);
      b.is_nan[p] = 0;
    }
    return;
  }
  if (r.mode == GridMode::linear) {
    place_positions(low, n, pixels[0]);
#pragma omp simd
    for (std::int64_t p = 0; p < n; ++p) {
      pixels[1][p] = pixels[0][p] + 1;
      weight[1][p] = rest[p];
      weight[0][p] = T(1) - rest[p];
    }
    return;
  }
  constexpr T a = T(-0.75), one = T(1);
#pragma omp simd
  for (std::int64_t p = 0; p < n; ++p) {
    const T t = rest[p], t0 = t + one, t2 = one - t, t3 = T(2) - t;
    weight[0][p] = ((a * t0 - T(5) * a) * t0 + T(8) * a) * t0 - T(4) * a;
    weight[1][p] = ((a + T(2)) * t - (a + T(3))) * t * t + one;
    weight[2][p] = ((a + T(2)) * t2 - (a + T(3))) * t2 * t2 + one;
    weight[3][p] = ((a * t3 - T(5) * a) * t3 + T(8) * a) * t3 - T(4) * a;
  }
  for (int i = 0; i < 4; ++i) {
#pragma omp simd
    for (std::int64_t p = 0; p < n; ++p) x[p] = low[p] + T(i - 1);
    pad_positions(x, n, size, r);
    place_positions(x, n, pixels[i]);
  }
}

template <class T>
[[gnu::always_inline]] inline void find_block(const T* at, const std::int64_t* size, const Rules& r,
                                              SampleBlock<T>& b) {
  const std::int64_t n = b.points;
  std::fill_n(b.is_nan, n, 0);
  for (int axis = 0; axis < 2; ++axis) find_axis_taps(at + axis, size[axis], r, axis, b);
  const auto width = static_cast<std::uint32_t>(size[0]), height = static_cast<std::uint32_t>(size[1]);
  std::int32_t all = -1, any_nan = 0;
  for (int j = 0; j < b.taps; ++j) {
    for (int i = 0; i < b.taps; ++i) {
      const std::int32_t *x = b.pixels[0][i], *y = b.pixels[1][j];
      std::int32_t *index = b.index[b.taps * j + i], *inside = b.inside[b.taps * j + i];
#pragma omp simd reduction(& : all)
      for (std::int64_t p = 0; p < n; ++p) {
        const auto column = static_cast<std::uint32_t>(x[p]), row = static_cast<std::uint32_t>(y[p]);
        const std::int32_t is_inside = column < width && row < height ? -1 : 0;
        index[p] = static_cast<std::int32_t>(row * width + column) & is_inside;
        inside[p] = is_inside;
        all &= is_inside;
      }
      if (r.mode != GridMode::linear) continue;
      const T *wx = b.axis_weight[0][i], *wy = b.axis_weight[1][j];
      T* weight = b.weight[2 * j + i];
#pragma omp simd
      for (std::int64_t p = 0; p < n; ++p) weight[p] = wy[p] * wx[p];
    }
  }
  for (std::int64_t p = 0; p < n; ++p) any_nan |= b.is_nan[p];
  b.are_all_inside = all != 0;
  b.has_nan = any_nan != 0;
}

/// Samples one channel at all points of the block. `kInside`: no element lies outside.
template <GridMode kMode, bool kInside, class T>
[[gnu::always_inline]] inline void apply_taps(const SampleBlock<T>& b, const T* plane, T* to) {
  constexpr int kTaps = kMode == GridMode::nearest ? 1 : kMode == GridMode::linear ? 2 : 4;
#pragma omp simd
  for (std::int64_t p = 0; p < b.points; ++p) {
    const auto element = [&](int k) __attribute__((always_inline)) {
      const T v = plane[b.index[k][p]];
      return kInside || b.inside[k][p] != 0 ? v : T(0);
    };
    if constexpr (kMode == GridMode::nearest) {
      to[p] = element(0);
    } else if constexpr (kMode == GridMode::linear) {
      T sum = T(0);
#pragma GCC unroll 4
      for (int k = 0; k < kTaps * kTaps; ++k) sum += element(k) * b.weight[k][p];
      to[p] = sum;
    } else {
      T sum = T(0);
#pragma GCC unroll 4
      for (int j = 0; j < kTaps; ++j) {
        T row = T(0);
#pragma GCC unroll 4
        for (int i = 0; i < kTaps; ++i) row += element(kTaps * j + i) * b.axis_weight[0][i][p];
        sum += row * b.axis_weight[1][j][p];
      }
      to[p] = sum;
    }
  }
}

/// Images: the samples of a block of points serve all channels.
template <GridMode kMode, class T>
void sample_blocks(const KernelCall& c, const Rules& rules, const std::int64_t* size) {
  const TensorView &x = c.in[0], &grid = c.in[1], &y = c.out[0];
  const std::int64_t channels = x.size(1), plane = size[0] * size[1], points = y.size(2) * y.size(3),
                     blocks = (points + kBlockPoints - 1) / kBlockPoints;
  parallel_for(x.size(0) * blocks, grain_for(kBlockPoints * channels * 8), [&](std::int64_t begin, std::int64_t end) {
    SampleBlock<T> b;
    b.taps = kMode == GridMode::nearest ? 1 : kMode == GridMode::linear ? 2 : 4;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t n = i / blocks, first = i % blocks * kBlockPoints;
      b.points = std::min(kBlockPoints, points - first);
      const T* at = grid.data_as<const T>() + (n * points + first) * 2;
      const auto sample = [&](auto) __attribute__((always_inline)) {
        find_block(at, size, rules, b);
        for (std::int64_t channel = n * channels; channel < (n + 1) * channels; ++channel) {
          const T* from = x.data_as<const T>() + channel * plane;
          T* to = y.data_as<T>() + channel * points + first;
          if (b.are_all_inside) {
            apply_taps<kMode, true>(b, from, to);
          } else {
            apply_taps<kMode, false>(b, from, to);
          }
          for (std::int64_t p = 0; b.has_nan && p < b.points; ++p) {
            if (b.is_nan[p] != 0) to[p] = std::numeric_limits<T>::quiet_NaN();
          }
        }
      };
      if constexpr (std::is_same_v<T, float>) {
        visit_cpu_level(sample);
      } else {
        visit_first_cpu_level(sample);
      }
    }
  });
}

template <class T>
void sample_images(const KernelCall& c, const Rules& rules, const std::int64_t* size) {
  switch (rules.mode) {
    case GridMode::nearest: return sample_blocks<GridMode::nearest, T>(c, rules, size);
    case GridMode::linear: return sample_blocks<GridMode::linear, T>(c, rules, size);
    case GridMode::cubic: return sample_blocks<GridMode::cubic, T>(c, rules, size);
  }
}

/// Positions, weights and sums are computed in T.
template <class T, class Element>
void sample(KernelCall& c) {
  const TensorView &x = c.in[0], &grid = c.in[1], &y = c.out[0];
  const int axes = x.rank - 2;
  const Rules rules{static_cast<GridMode>(c.node->integer(AttrKey::mode)),
                    static_cast<GridPadding>(c.node->integer(AttrKey::kind)),
                    c.node->integer(AttrKey::align_corners) != 0, axes};
  std::int64_t size[3] = {1, 1, 1}, in = 1;
  for (int i = 0; i < axes; ++i) {
    size[i] = x.size(x.rank - 1 - i);
    in *= size[i];
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (axes == 2 && in > 0 && in < std::int64_t{1} << 31) return sample_images<T>(c, rules, size);
  }
  const std::int64_t channels = x.size(1), points = y.numel() / (y.size(0) * channels);
  const T zero = axes == 3 && rules.mode == GridMode::linear ? T(0) : T(-0.0);
  const std::int64_t grain = grain_for(channels * (rules.mode == GridMode::cubic ? 16 : 8));
  parallel_for(x.size(0) * points, grain, [&](std::int64_t begin, std::int64_t end) {
    Samples<T> s;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t n = i / points, p = i % points;
      T at[3];
      const Element* position = grid.data_as<const Element>() + i * axes;
      for (int a = 0; a < axes; ++a) at[a] = T(static_cast<float_of<T>>(position[a]));
      find(at, size, axes, rules, s);
      for (std::int64_t channel = n * channels; channel < (n + 1) * channels; ++channel) {
        const T sum = apply(s, x.data_as<const Element>() + channel * in, zero);
        y.data_as<Element>()[channel * points + p] = Element(static_cast<float_of<T>>(sum));
      }
    }
  });
}

void run_grid_sample(KernelCall& c) {
  if (c.out[0].numel() == 0) return;
  switch (c.in[0].dtype) {
    case DType::f64: return sample<double, double>(c);
    case DType::f32: return sample<float, float>(c);
    // PyTorch computes in the type itself.
    case DType::f16: return sample<Rounded<Half>, Half>(c);
    case DType::bf16: return sample<Rounded<BFloat16>, BFloat16>(c);
    default: fail(ErrorCode::unsupported, "grid_sample of " + std::string(name_of(c.in[0].dtype)));
  }
}

}  // namespace

Kernel grid_sample_kernel() {
  return {.run = run_grid_sample};
}

}  // namespace tern::cpu
