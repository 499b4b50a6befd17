// grid_sample: finds the input elements around each grid position and their weights once, then applies these to every
// channel.
#include <tern/error.h>

#include <cmath>
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
  std::int64_t place[2][4];
  for (int axis = 0; axis < 2; ++axis) {
    const T x = unnormalised(at[axis], size[axis], r.align_corners), low = floor(x), rest = x - low;
    if (is_unordered(rest)) return find_nan(rest, s);
    cubic_weights(rest, weight[axis]);
    for (int i = 0; i < 4; ++i) {
      place[axis][i] = static_cast<std::int64_t>(bounded(padded(low + T(i - 1), size[axis], r)));
    }
  }
  s.rows = s.columns = 4;
  for (int j = 0; j < 4; ++j) {
    s.row[static_cast<std::size_t>(j)] = weight[1][j];
    for (int i = 0; i < 4; ++i) {
      const std::int64_t x = place[0][i], y = place[1][j];
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

constexpr std::int64_t kBlockPoints = 64;

/// Samples of consecutive points of a plane, element k of all points side by side. Elements outside have index 0 and a
/// cleared `inside`.
template <class T>
struct SampleBlock {
  int columns = 0;
  std::int32_t index[4][kBlockPoints], inside[4][kBlockPoints];  ///< `inside`: -1 or 0
  T weight[4][kBlockPoints];

  void set(std::int64_t point, const Samples<T>& s) {
    for (int k = 0; k < columns; ++k) {
      const bool used = k < s.columns && s.index[static_cast<std::size_t>(k)] >= 0;
      index[k][point] = used ? static_cast<std::int32_t>(s.index[static_cast<std::size_t>(k)]) : 0;
      inside[k][point] = used ? -1 : 0;
      weight[k][point] = k < s.columns ? s.weight[static_cast<std::size_t>(k)] : T(0);
    }
  }
};

/// Samples one channel at all points of the block.
template <class T>
void apply_block(const SampleBlock<T>& b, const T* plane, std::int64_t points, T zero, T* to) {
  at_cpu_level([&](auto) __attribute__((always_inline)) {
    std::fill_n(to, points, zero);
    for (int k = 0; k < b.columns; ++k) {
      const std::int32_t *index = b.index[k], *inside = b.inside[k];
      const T* weight = b.weight[k];
#pragma omp simd
      for (std::int64_t p = 0; p < points; ++p) {
        const T v = plane[index[p]];
        to[p] += inside[p] != 0 ? v * weight[p] : T(0);
      }
    }
  });
}

/// Images in linear and nearest mode: the samples of a block of points serve all channels.
template <class T>
void sample_blocks(const KernelCall& c, const Rules& rules, const std::int64_t* size) {
  const TensorView &x = c.in[0], &grid = c.in[1], &y = c.out[0];
  const std::int64_t channels = x.size(1), plane = size[0] * size[1], points = y.size(2) * y.size(3),
                     blocks = (points + kBlockPoints - 1) / kBlockPoints;
  parallel_for(x.size(0) * blocks, grain_for(kBlockPoints * channels * 8), [&](std::int64_t begin, std::int64_t end) {
    SampleBlock<T> block;
    block.columns = rules.mode == GridMode::nearest ? 1 : 4;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t n = i / blocks, first = i % blocks * kBlockPoints,
                         count = std::min(kBlockPoints, points - first);
      const T* at = grid.as<const T>() + (n * points + first) * 2;
      for (std::int64_t p = 0; p < count; ++p) {
        Samples<T> s;
        find(at + 2 * p, size, 2, rules, s);
        block.set(p, s);
      }
      for (std::int64_t channel = n * channels; channel < (n + 1) * channels; ++channel)
        apply_block(block, x.as<const T>() + channel * plane, count, T(-0.0), y.as<T>() + channel * points + first);
    }
  });
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
    if (axes == 2 && rules.mode != GridMode::cubic && in > 0 && in < std::int64_t{1} << 31)
      return sample_blocks<T>(c, rules, size);
  }
  const std::int64_t channels = x.size(1), points = y.numel() / (y.size(0) * channels);
  const T zero = axes == 3 && rules.mode == GridMode::linear ? T(0) : T(-0.0);
  const std::int64_t grain = grain_for(channels * (rules.mode == GridMode::cubic ? 16 : 8));
  parallel_for(x.size(0) * points, grain, [&](std::int64_t begin, std::int64_t end) {
    Samples<T> s;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t n = i / points, p = i % points;
      T at[3];
      const Element* position = grid.as<const Element>() + i * axes;
      for (int a = 0; a < axes; ++a) at[a] = T(static_cast<float_of<T>>(position[a]));
      find(at, size, axes, rules, s);
      for (std::int64_t channel = n * channels; channel < (n + 1) * channels; ++channel) {
        const T sum = apply(s, x.as<const Element>() + channel * in, zero);
        y.as<Element>()[channel * points + p] = Element(static_cast<float_of<T>>(sum));
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
