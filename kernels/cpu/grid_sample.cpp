// grid_sample: for each position of the grid the input elements around it and their weights are found once, then
// applied to every channel.
#include <cmath>

#include "kernels/cpu/contractions.h"
#include "kernels/cpu/dense.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/plane_io.h"
#include "kernels/cpu/scratch.h"
#include "schema/window_kinds.h"

namespace tern::cpu {
namespace {

struct Rules {
  GridMode mode;
  GridPadding padding;
  bool align_corners;
};

/// -1..1 to 0..size-1.
template <class T>
T unnormalised(T x, std::int64_t size, bool align_corners) {
  if (align_corners) return (x + 1) / 2 * static_cast<T>(size - 1);
  return ((x + 1) * static_cast<T>(size) - 1) / 2;
}

/// Folds x back between low / 2 and high / 2.
template <class T>
T reflected(T x, std::int64_t low, std::int64_t high) {
  if (low == high) return 0;
  const T min = static_cast<T>(low) / 2, span = static_cast<T>(high - low) / 2;
  x = std::abs(x - min);
  const T extra = std::fmod(x, span);
  const bool even = std::fmod(std::floor(x / span), T(2)) == T(0);
  return even ? extra + min : span - extra + min;
}

template <class T>
T padded(T x, std::int64_t size, const Rules& r) {
  if (r.padding == GridPadding::reflection)
    x = r.align_corners ? reflected(x, 0, 2 * (size - 1)) : reflected(x, -1, 2 * size - 1);
  if (r.padding != GridPadding::zeros) x = std::min(std::max(x, T(0)), static_cast<T>(size - 1));
  // What no integer holds (and NaN) lies outside.
  return std::abs(x) < T(1e9) ? x : T(-100);
}

/// Elements of the plane and their weights.
template <class T>
struct Samples {
  std::int64_t count = 0;
  std::array<std::int64_t, 16> index{};
  std::array<T, 16> weight{};
  void add(std::int64_t i, T w) {
    index[static_cast<std::size_t>(count)] = i;
    weight[static_cast<std::size_t>(count++)] = w;
  }
};

template <class T>
void cubic_weights(T t, T* w) {
  const T a = T(-0.75);
  const auto near = [a](T x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [a](T x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  w[0] = far(t + 1);
  w[1] = near(t);
  w[2] = near(1 - t);
  w[3] = far(2 - t);
}

template <class T>
void find_cubic(const T* at, const std::int64_t* size, const Rules& r, Samples<T>& s) {
  T floor[2], weight[2][4];
  std::int64_t place[2][4];
  for (int axis = 0; axis < 2; ++axis) {
    T x = unnormalised(at[axis], size[axis], r.align_corners);
    if (!(std::abs(x) < T(1e9))) x = T(-100);
    floor[axis] = std::floor(x);
    cubic_weights(x - floor[axis], weight[axis]);
    for (int i = 0; i < 4; ++i)
      place[axis][i] = static_cast<std::int64_t>(padded(floor[axis] + static_cast<T>(i - 1), size[axis], r));
  }
  for (int j = 0; j < 4; ++j) {
    for (int i = 0; i < 4; ++i) {
      const std::int64_t x = place[0][i], y = place[1][j];
      if (x >= 0 && x < size[0] && y >= 0 && y < size[1]) s.add(y * size[0] + x, weight[0][i] * weight[1][j]);
    }
  }
}

/// `at` and `size` have the innermost axis first.
template <class T>
void find(const T* at, const std::int64_t* size, int axes, const Rules& r, Samples<T>& s) {
  s.count = 0;
  if (r.mode == GridMode::cubic) return find_cubic(at, size, r, s);
  std::int64_t low[3] = {0, 0, 0};
  T rest[3] = {0, 0, 0};
  for (int axis = 0; axis < axes; ++axis) {
    const T x = padded(unnormalised(at[axis], size[axis], r.align_corners), size[axis], r);
    const T floor = r.mode == GridMode::nearest ? std::nearbyint(x) : std::floor(x);
    low[axis] = static_cast<std::int64_t>(floor);
    rest[axis] = x - floor;
  }
  const int corners = r.mode == GridMode::nearest ? 1 : 1 << axes;
  for (int k = 0; k < corners; ++k) {
    std::int64_t index = 0;
    T weight = 1;
    bool inside = true;
    for (int axis = axes - 1; axis >= 0; --axis) {
      const int up = k >> axis & 1;
      const std::int64_t x = low[axis] + up;
      inside = inside && x >= 0 && x < size[axis];
      index = index * size[axis] + x;
      if (r.mode == GridMode::linear) weight *= up != 0 ? rest[axis] : 1 - rest[axis];
    }
    if (inside) s.add(index, weight);
  }
}

template <class T>
void sample(KernelCall& c) {
  const TensorView &x = c.in[0], &grid = c.in[1], &y = c.out[0];
  const int axes = x.rank - 2;
  const Rules rules{static_cast<GridMode>(c.node->integer(AttrKey::mode)),
                    static_cast<GridPadding>(c.node->integer(AttrKey::kind)),
                    c.node->integer(AttrKey::align_corners) != 0};
  std::int64_t size[3] = {1, 1, 1}, in = 1;
  for (int i = 0; i < axes; ++i) {
    size[i] = x.size(x.rank - 1 - i);
    in *= size[i];
  }
  const std::int64_t channels = x.size(1), points = y.numel() / (y.size(0) * channels);
  for (std::int64_t n = 0; n < x.size(0); ++n) {
    parallel_for(points, grain_for(channels * (rules.mode == GridMode::cubic ? 16 : 8)),
                 [&](std::int64_t begin, std::int64_t end) {
                   Samples<T> s;
                   for (std::int64_t p = begin; p < end; ++p) {
                     T buffer[3], value_buffer{};
                     const T* at = read_run(grid, (n * points + p) * axes, axes, buffer);
                     find(at, size, axes, rules, s);
                     for (std::int64_t channel = 0; channel < channels; ++channel) {
                       T sum = 0;
                       const std::int64_t plane = (n * channels + channel) * in;
                       for (std::int64_t k = 0; k < s.count; ++k) {
                         const auto i = static_cast<std::size_t>(k);
                         sum += *read_run(x, plane + s.index[i], 1, &value_buffer) * s.weight[i];
                       }
                       const std::int64_t to = (n * channels + channel) * points + p;
                       if (y.dtype == dtype_of_v<T>) {
                         y.as<T>()[to] = sum;
                       } else {
                         write_run(y, to, 1, &sum);
                       }
                     }
                   }
                 });
  }
}

void run(KernelCall& c) {
  if (c.out[0].numel() == 0) return;
  if (c.in[0].dtype == DType::f64) return sample<double>(c);
  sample<float>(c);
}

}  // namespace

Kernel grid_sample_kernel() {
  return {run, nullptr, nullptr, 0, -1};
}

}  // namespace tern::cpu
