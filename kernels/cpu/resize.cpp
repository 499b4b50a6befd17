// resize: for each axis a table says which input elements make an output element, with which weights; axes are applied
// one after the other, the innermost first. Positions and weights are those of PyTorch's CPU kernels.
#include <tern/error.h>

#include <cmath>
#include <cstring>

#include "kernels/cpu/contractions.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/plane_io.h"
#include "kernels/cpu/scratch.h"
#include "schema/window_kinds.h"

namespace tern::cpu {
namespace {

/// Output i is the sum over k < taps of weight[i * taps + k] times input index[i * taps + k].
template <class T>
struct Table {
  std::int64_t in = 1, out = 1, taps = 1;
  bool identity = true;
  std::vector<std::int64_t> index;
  std::vector<T> weight;
};

struct AxisSpec {
  std::int64_t in, out;
  double factor;  ///< output size / input size as given, 0 if not
  bool align_corners;
};

/// Input elements per output element.
template <class T>
T scale_of(const AxisSpec& a, bool align_corners) {
  if (align_corners) return a.out > 1 ? static_cast<T>(a.in - 1) / static_cast<T>(a.out - 1) : T(0);
  return a.factor > 0 ? static_cast<T>(1.0 / a.factor) : static_cast<T>(a.in) / static_cast<T>(a.out);
}

template <class T>
T source_index(T scale, std::int64_t i, bool align_corners, bool cubic) {
  if (align_corners) return scale * static_cast<T>(i);
  const T source = scale * (static_cast<T>(i) + T(0.5)) - T(0.5);
  return !cubic && source < T(0) ? T(0) : source;
}

template <class T>
void floor_and_rest(T source, std::int64_t in, std::int64_t* index, T* rest) {
  *index = std::min(static_cast<std::int64_t>(std::floor(source)), in - 1);
  *rest = std::min(std::max(source - static_cast<T>(*index), T(0)), T(1));
}

template <class T>
void nearest(const AxisSpec& a, bool exact, Table<T>& t) {
  const T scale = scale_of<T>(a, false);
  for (std::int64_t i = 0; i < a.out; ++i) {
    const T source = source_index(scale, i, !exact, exact) + (exact ? T(0.5) : T(0));
    t.index[static_cast<std::size_t>(i)] =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(source)), 0, a.in - 1);
    t.weight[static_cast<std::size_t>(i)] = T(1);
  }
}

template <class T>
void linear(const AxisSpec& a, Table<T>& t) {
  const T scale = scale_of<T>(a, a.align_corners);
  for (std::int64_t i = 0; i < a.out; ++i) {
    std::int64_t at = 0;
    T rest = 0;
    floor_and_rest(source_index(scale, i, a.align_corners, false), a.in, &at, &rest);
    const auto k = static_cast<std::size_t>(2 * i);
    t.index[k] = at;
    t.index[k + 1] = at + (at < a.in - 1 ? 1 : 0);
    t.weight[k] = T(1) - rest;
    t.weight[k + 1] = rest;
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
void cubic(const AxisSpec& a, Table<T>& t) {
  const T scale = scale_of<T>(a, a.align_corners), A = T(-0.75);
  for (std::int64_t i = 0; i < a.out; ++i) {
    std::int64_t at = 0;
    T x = 0;
    floor_and_rest(source_index(scale, i, a.align_corners, true), a.in, &at, &x);
    const T weights[4] = {cubic_far(x + 1, A), cubic_near(x, A), cubic_near(1 - x, A), cubic_far(2 - x, A)};
    for (std::int64_t j = 0; j < 4; ++j) {
      const auto k = static_cast<std::size_t>(4 * i + j);
      t.index[k] = std::clamp<std::int64_t>(at + j - 1, 0, a.in - 1);
      t.weight[k] = weights[j];
    }
  }
}

/// The filters that antialiasing widens, as Pillow has them: a triangle, and the cubic with A = -0.5.
template <class T>
T filter(T x, bool is_cubic) {
  x = std::abs(x);
  if (!is_cubic) return x < 1 ? 1 - x : T(0);
  return x < 1 ? cubic_near(x, T(-0.5)) : x < 2 ? cubic_far(x, T(-0.5)) : T(0);
}

template <class T>
void antialiased(const AxisSpec& a, bool is_cubic, Table<T>& t) {
  const T scale = scale_of<T>(a, a.align_corners), half = is_cubic ? T(2) : T(1);
  const T support = scale >= 1 ? half * scale : half, inverse = scale >= 1 ? 1 / scale : T(1);
  t.taps = std::min<std::int64_t>(a.in, static_cast<std::int64_t>(std::ceil(support)) * 2 + 1);
  if (t.taps > (1 << 28) / a.out)
    fail(ErrorCode::unsupported, "an antialiased resize by so small a factor takes too much memory");
  t.index.assign(static_cast<std::size_t>(t.taps * a.out), 0);
  t.weight.assign(static_cast<std::size_t>(t.taps * a.out), T(0));
  for (std::int64_t i = 0; i < a.out; ++i) {
    const T centre = scale * (static_cast<T>(i) + T(0.5));
    const std::int64_t first = std::max<std::int64_t>(static_cast<std::int64_t>(centre - support + T(0.5)), 0);
    const std::int64_t count =
        std::min(std::min(static_cast<std::int64_t>(centre + support + T(0.5)), a.in) - first, t.taps);
    T total = 0;
    for (std::int64_t j = 0; j < count; ++j) {
      const auto k = static_cast<std::size_t>(i * t.taps + j);
      t.index[k] = first + j;
      t.weight[k] = filter((static_cast<T>(j + first) - centre + T(0.5)) * inverse, is_cubic);
      total += t.weight[k];
    }
    for (std::int64_t j = 0; j < count && total != T(0); ++j)
      t.weight[static_cast<std::size_t>(i * t.taps + j)] /= total;
  }
}

template <class T>
Table<T> make_table(const AxisSpec& a, ResizeMode mode, bool antialias) {
  Table<T> t;
  t.in = a.in;
  t.out = a.out;
  t.identity = false;
  if (antialias) {
    antialiased(a, mode == ResizeMode::cubic, t);
    return t;
  }
  t.taps = mode == ResizeMode::cubic ? 4 : mode == ResizeMode::linear ? 2 : 1;
  t.index.resize(static_cast<std::size_t>(t.taps * a.out));
  t.weight.resize(t.index.size());
  switch (mode) {
    case ResizeMode::cubic: cubic(a, t); break;
    case ResizeMode::linear:
      linear(a, t);
      t.identity = a.in == a.out;
      break;
    case ResizeMode::nearest:
    case ResizeMode::nearest_exact: nearest(a, mode == ResizeMode::nearest_exact, t); break;
  }
  return t;
}

template <class T>
struct Tables : KernelState {
  std::array<Table<T>, 3> axes;  ///< missing axes come first
};

template <class T>
std::unique_ptr<Tables<T>> tables_of(const KernelCall& c) {
  const Node& node = *c.node;
  auto r = std::make_unique<Tables<T>>();
  const int n = c.in[0].rank - 2;
  const std::vector<double>& factors = node.numbers(AttrKey::scales);
  for (int i = 0; i < n; ++i) {
    const AxisSpec a{c.in[0].size(i + 2), c.out[0].size(i + 2),
                     factors.empty() ? 0.0 : factors[static_cast<std::size_t>(i)],
                     node.integer(AttrKey::align_corners) != 0};
    r->axes[static_cast<std::size_t>(3 - n + i)] =
        make_table<T>(a, static_cast<ResizeMode>(node.integer(AttrKey::mode)), node.integer(AttrKey::antialias) != 0);
  }
  return r;
}

std::unique_ptr<KernelState> prepare(const KernelCall& c) {
  if (c.out[0].numel() == 0) return nullptr;
  if (c.in[0].dtype == DType::f64) return tables_of<double>(c);
  return tables_of<float>(c);
}

/// One axis of `outer` x in x `inner` elements.
template <class T>
void apply(const Table<T>& t, const T* x, std::int64_t outer, std::int64_t inner, T* y) {
  for (std::int64_t o = 0; o < outer; ++o) {
    const T* from = x + o * t.in * inner;
    for (std::int64_t i = 0; i < t.out; ++i) {
      T* to = y + (o * t.out + i) * inner;
      const std::int64_t* index = t.index.data() + i * t.taps;
      const T* weight = t.weight.data() + i * t.taps;
      if (t.taps == 1) {
        std::memcpy(to, from + index[0] * inner, static_cast<std::size_t>(inner) * sizeof(T));
        continue;
      }
      for (std::int64_t j = 0; j < inner; ++j) to[j] = from[index[0] * inner + j] * weight[0];
      for (std::int64_t k = 1; k < t.taps; ++k) {
        const T* source = from + index[k] * inner;
        for (std::int64_t j = 0; j < inner; ++j) to[j] += source[j] * weight[k];
      }
    }
  }
}

template <class T>
void resize(KernelCall& c) {
  std::unique_ptr<Tables<T>> own;
  const auto* tables = static_cast<const Tables<T>*>(c.state);
  if (tables == nullptr) {
    own = tables_of<T>(c);
    tables = own.get();
  }
  const TensorView &x = c.in[0], &y = c.out[0];
  std::int64_t in = 1, out = 1, widest = 1;
  for (const Table<T>& t : tables->axes) {
    in *= t.in;
    out *= t.out;
    widest *= std::max(t.in, t.out);
  }
  parallel_for(x.size(0) * x.size(1), grain_for(in + out), [&](std::int64_t begin, std::int64_t end) {
    T* buffers[2] = {thread_buffer<T>(static_cast<std::size_t>(widest), 0),
                     thread_buffer<T>(static_cast<std::size_t>(widest), 1)};
    for (std::int64_t p = begin; p < end; ++p) {
      const T* at = read_run(x, p * in, in, buffers[0]);
      int free = at == buffers[0] ? 1 : 0;
      std::array<std::int64_t, 3> size{tables->axes[0].in, tables->axes[1].in, tables->axes[2].in};
      for (std::size_t axis = 3; axis-- > 0;) {
        const Table<T>& t = tables->axes[axis];
        if (t.identity) continue;
        std::int64_t outer = 1, inner = 1;
        for (std::size_t i = 0; i < axis; ++i) outer *= size[i];
        for (std::size_t i = axis + 1; i < 3; ++i) inner *= size[i];
        apply(t, at, outer, inner, buffers[free]);
        at = buffers[free];
        free = 1 - free;
        size[axis] = t.out;
      }
      if (y.dtype == DType::u8) {
        auto* to = y.as<std::uint8_t>() + p * out;
        for (std::int64_t i = 0; i < out; ++i)
          to[i] = static_cast<std::uint8_t>(std::clamp(std::nearbyint(at[i]), T(0), T(255)));
      } else {
        convert(at, dtype_of_v<T>, y.data + p * out * element_size(y.dtype), y.dtype, out);
      }
    }
  });
}

void run(KernelCall& c) {
  if (c.out[0].numel() == 0) return;
  if (c.in[0].dtype == DType::f64) return resize<double>(c);
  resize<float>(c);
}

}  // namespace

Kernel resize_kernel() {
  return {run, nullptr, prepare, 0, -1};
}

}  // namespace tern::cpu
