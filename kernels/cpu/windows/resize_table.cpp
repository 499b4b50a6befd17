#include "kernels/cpu/windows/resize_table.h"

#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "dtypes/checked.h"
#include "dtypes/convert.h"

namespace tern::cpu {
namespace {

struct ResizeAxis {
  std::int64_t in, out;
  double factor;  ///< output size / input size; 0: not given
  bool align_corners;
  /// PyTorch has two kernels: a general kernel, and a direct kernel for small images, channels last and gradients.
  bool direct;
  bool fused;  ///< PyTorch's build contracts product and difference of the position to an fma
  DType dtype;
};

/// The general kernel stores weights in the image's type.
template <class T>
T stored(T weight, const ResizeAxis& a) {
  if constexpr (std::is_same_v<T, float>) {
    if (a.direct || (a.dtype != DType::f16 && a.dtype != DType::bf16)) return weight;
    std::uint16_t bits = 0;
    convert(&weight, DType::f32, &bits, a.dtype, 1);
    convert(&bits, a.dtype, &weight, DType::f32, 1);
  }
  return weight;
}

/// Returns the input elements per output element.
template <class T>
T scale_of(const ResizeAxis& a, bool align_corners) {
  if (align_corners) return a.out > 1 ? static_cast<T>(a.in - 1) / static_cast<T>(a.out - 1) : T(0);
  return a.factor > 0 ? static_cast<T>(1.0 / a.factor) : static_cast<T>(a.in) / static_cast<T>(a.out);
}

template <class T>
T source_index(T scale, std::int64_t i, const ResizeAxis& a, bool cubic) {
  if (a.align_corners) return scale * static_cast<T>(i);
  const T centre = static_cast<T>(i) + T(0.5);
  const T source = a.fused ? std::fma(scale, centre, T(-0.5)) : scale * centre - T(0.5);
  return !cubic && source < T(0) ? T(0) : source;
}

template <class T>
void floor_and_rest(T source, std::int64_t in, std::int64_t* index, T* rest) {
  *index = std::clamp<std::int64_t>(clamped_to(std::floor(source)), -1, in - 1);
  *rest = std::min(std::max(source - static_cast<T>(*index), T(0)), T(1));
}

/// The general kernel computes in the image's type, or double if `wide`, but floors a float. The direct kernel
/// multiplies by a float, and ignores the factor if out equals in or 2 * in.
void nearest(ResizeAxis a, bool exact, bool wide, std::vector<std::int64_t>& index) {
  const auto rounded = [&](double x) { return wide ? x : static_cast<double>(static_cast<float>(x)); };
  wide = wide && !a.direct;
  if (a.direct && !exact && (a.out == a.in || a.out == 2 * a.in)) a.factor = 0;
  const double scale = wide ? scale_of<double>(a, false) : static_cast<double>(scale_of<float>(a, false));
  for (std::int64_t i = 0; i < a.out; ++i) {
    double source = scale * (static_cast<double>(i) + (exact ? 0.5 : 0.0));
    if (exact && !a.direct) source = std::max(rounded(rounded(source) - 0.5), 0.0) + 0.5;
    index[static_cast<std::size_t>(i)] =
        std::clamp<std::int64_t>(clamped_to(std::floor(static_cast<float>(source))), 0, a.in - 1);
  }
}

template <class T>
void linear(const ResizeAxis& a, ResizeTable<T>& t) {
  const T scale = scale_of<T>(a, a.align_corners);
  const bool same = a.in == a.out;  // regardless of the factor
  for (std::int64_t i = 0; i < a.out; ++i) {
    std::int64_t at = i;
    T rest = 0;
    if (!same) floor_and_rest(source_index(scale, i, a, false), a.in, &at, &rest);
    const auto k = static_cast<std::size_t>(2 * i);
    t.index[k] = at;
    t.index[k + 1] = at + (at < a.in - 1 && !same ? 1 : 0);
    t.weight[k + 1] = stored(rest, a);
    t.weight[k] = stored(T(1) - t.weight[k + 1], a);
  }
}

/// Keys' cubic convolution with A = -0.75: near (distance <= 1) and far (1 to 2).
template <class T>
T cubic_near(T x, T a) {
  return ((a + 2) * x - (a + 3)) * x * x + 1;
}
template <class T>
T cubic_far(T x, T a) {
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

template <class T>
void cubic(const ResizeAxis& a, ResizeTable<T>& t) {
  const T scale = scale_of<T>(a, a.align_corners), A = T(-0.75);
  for (std::int64_t i = 0; i < a.out; ++i) {
    std::int64_t at = 0;
    T x = 0;
    floor_and_rest(source_index(scale, i, a, true), a.in, &at, &x);
    const T weights[4] = {cubic_far(x + 1, A), cubic_near(x, A), cubic_near(1 - x, A), cubic_far(2 - x, A)};
    for (std::int64_t j = 0; j < 4; ++j) {
      const auto k = static_cast<std::size_t>(4 * i + j);
      t.index[k] = std::clamp<std::int64_t>(at + j - 1, 0, a.in - 1);
      t.weight[k] = stored(weights[j], a);
    }
  }
}

/// Filters widened by antialiasing, as in Pillow: triangle, cubic with A = -0.5, and Lanczos with three lobes.
template <class T>
T filter(T x, ResizeMode mode) {
  x = std::abs(x);
  if (mode == ResizeMode::linear) return x < 1 ? 1 - x : T(0);
  if (mode == ResizeMode::lanczos) {
    const T a = x * std::numbers::pi_v<T>;
    return x == 0 ? T(1) : x < 3 ? 3 * std::sin(a) * std::sin(a / 3) / (a * a) : T(0);
  }
  return x < 1 ? cubic_near(x, T(-0.5)) : x < 2 ? cubic_far(x, T(-0.5)) : T(0);
}

template <class T>
void antialiased(const ResizeAxis& a, ResizeMode mode, ResizeTable<T>& t) {
  const T half = mode == ResizeMode::lanczos ? T(3) : mode == ResizeMode::cubic ? T(2) : T(1);
  const T scale = scale_of<T>(a, a.align_corners);
  const T support = scale >= 1 ? half * scale : half, inverse = scale >= 1 ? 1 / scale : T(1);
  t.taps = std::min<std::int64_t>(a.in, std::min(clamped_to(std::ceil(support)), a.in) * 2 + 1);
  if (t.taps > (1 << 28) / a.out)
    fail(ErrorCode::unsupported, "an antialiased resize by such a small factor needs too much memory");
  t.index.assign(static_cast<std::size_t>(t.taps * a.out), -1);
  t.weight.assign(static_cast<std::size_t>(t.taps * a.out), T(0));
  for (std::int64_t i = 0; i < a.out; ++i) {
    const T centre = scale * (static_cast<T>(i) + T(0.5));
    const std::int64_t first = std::clamp<std::int64_t>(clamped_to(centre - support + T(0.5)), 0, a.in);
    const std::int64_t count = std::min(std::min(clamped_to(centre + support + T(0.5)), a.in) - first, t.taps);
    T total = 0;
    t.index[static_cast<std::size_t>(i * t.taps)] = 0;
    for (std::int64_t j = 0; j < count; ++j) {
      const auto k = static_cast<std::size_t>(i * t.taps + j);
      t.index[k] = first + j;
      t.weight[k] = filter((static_cast<T>(j + first) - centre + T(0.5)) * inverse, mode);
      total += t.weight[k];
    }
    for (std::int64_t j = 0; j < count && total != T(0); ++j)
      t.weight[static_cast<std::size_t>(i * t.taps + j)] /= total;
  }
}

}  // namespace

template <class T>
int quantise(const std::vector<std::int64_t>& index, std::vector<T>& weight, std::int64_t out, std::int64_t taps) {
  T largest = 0;
  for (std::int64_t i = 0; i < out; ++i) {
    const auto row = static_cast<std::size_t>(i * taps);
    for (std::size_t k = row + 1; k < row + static_cast<std::size_t>(taps); ++k) {
      if (index[k] != index[k - 1]) continue;
      weight[k] += weight[k - 1];
      weight[k - 1] = 0;
    }
    for (std::size_t k = row; k < row + static_cast<std::size_t>(taps); ++k) largest = std::max(largest, weight[k]);
  }
  int precision = 0;
  while (precision < 22 && clamped_to<int>(T(0.5) + largest * static_cast<T>(1 << (precision + 1))) < 1 << 15)
    ++precision;
  for (T& w : weight) w = std::ldexp(std::trunc(std::ldexp(w, precision) + (w < 0 ? T(-0.5) : T(0.5))), -precision);
  return precision;
}

bool resizes_bytes(const Node& node, const TensorView& x) {
  const auto mode = static_cast<ResizeMode>(node.integer(AttrKey::mode));
  return x.dtype == DType::u8 && x.rank == 4 && mode != ResizeMode::nearest && mode != ResizeMode::nearest_exact;
}

template <class T>
ResizeTable<T> resize_table(const KernelCall& c, int axis) {
  const Node& node = *c.node;
  const bool gradient = node.op == Op::resize_gradient, antialias = node.integer(AttrKey::antialias) != 0;
  const TensorView &x = gradient ? c.out[0] : c.in[0], &y = gradient ? c.in[0] : c.out[0];
  const auto mode = static_cast<ResizeMode>(node.integer(AttrKey::mode));
  const bool small = x.rank == 4 && y.size(2) + y.size(3) <= 128;
  const bool direct = gradient || (mode != ResizeMode::cubic && (small || node.integer(AttrKey::layout) != 0));
  const ResizeAxis a{x.size(axis),
                     y.size(axis),
                     node.number_at(AttrKey::scales, static_cast<std::size_t>(axis - 2)),
                     node.integer(AttrKey::align_corners) != 0,
                     direct,
                     !resizes_bytes(node, x) && (mode == ResizeMode::cubic ? !gradient : direct),
                     x.dtype};
  ResizeTable<T> t;
  t.in = a.in;
  t.out = a.out;
  // PyTorch filters axis by axis for antialiasing or bytes, and skips axes of equal size. Bicubic gradients of equal
  // shapes are copies.
  const bool one_by_one = antialias || resizes_bytes(node, x);
  t.identity =
      a.in == a.out &&
      (gradient ? mode == ResizeMode::cubic && !antialias && std::ranges::equal(x.shape(), y.shape()) : one_by_one);
  if (antialias && !t.identity) {
    antialiased(a, mode, t);
    return t;
  }
  t.taps = t.identity ? 1 : mode == ResizeMode::cubic ? 4 : mode == ResizeMode::linear ? 2 : 1;
  t.index.resize(static_cast<std::size_t>(t.taps * a.out));
  t.weight.resize(t.index.size(), T(1));
  if (t.identity) {
    std::iota(t.index.begin(), t.index.end(), 0);
  } else if (mode == ResizeMode::cubic) {
    cubic(a, t);
  } else if (mode == ResizeMode::linear) {
    linear(a, t);
  } else {
    nearest(a, mode == ResizeMode::nearest_exact, std::is_same_v<T, double>, t.index);
  }
  return t;
}

template int quantise(const std::vector<std::int64_t>&, std::vector<float>&, std::int64_t, std::int64_t);
template int quantise(const std::vector<std::int64_t>&, std::vector<double>&, std::int64_t, std::int64_t);
template ResizeTable<float> resize_table(const KernelCall&, int);
template ResizeTable<double> resize_table(const KernelCall&, int);

}  // namespace tern::cpu
