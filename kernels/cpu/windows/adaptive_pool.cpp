// adaptive_pool and fractional_pool: each axis computes position and size of its windows.
#include <cmath>
#include <limits>

#include "kernels/channels_last.h"
#include "kernels/cpu/accumulate.h"
#include "kernels/cpu/channels_last/pool.h"
#include "kernels/cpu/contractions.h"
#include "kernels/cpu/planes/loops.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/windows/plane_io.h"
#include "schema/window_kinds.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

struct PoolRange {
  std::int64_t begin = 0, end = 1;
};

struct PoolSizes {
  std::array<std::int64_t, 3> in{1, 1, 1}, out{1, 1, 1};
  std::int64_t planes = 0, input_plane = 1, output_plane = 1;
};

PoolSizes sizes_of(const KernelCall& c, std::size_t n) {
  const TensorView &x = c.in[0], &y = sized_output(c);
  PoolSizes s;
  for (std::size_t i = 0; i < n; ++i) {
    const int axis = x.rank - static_cast<int>(n - i);
    s.in[3 - n + i] = x.size(axis);
    s.out[3 - n + i] = y.size(axis);
  }
  s.input_plane = s.in[0] * s.in[1] * s.in[2];
  s.output_plane = s.out[0] * s.out[1] * s.out[2];
  s.planes = y.numel() / std::max<std::int64_t>(1, s.output_plane);
  return s;
}

/// Calls f(element, position) over a box of the plane.
template <class T, class F>
void for_each_in_box(const PoolSizes& s, const T* x, PoolRange d, PoolRange h, PoolRange w, F&& f) {
  for (std::int64_t i = d.begin; i < d.end; ++i) {
    for (std::int64_t j = h.begin; j < h.end; ++j) {
      const std::int64_t line = (i * s.in[1] + j) * s.in[2];
      for (std::int64_t k = w.begin; k < w.end; ++k) f(x[line + k], line + k);
    }
  }
}

template <class T>
T largest(const PoolSizes& s, const T* x, PoolRange d, PoolRange h, PoolRange w, std::int64_t* index) {
  T best =
      std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  std::int64_t at = (d.begin * s.in[1] + h.begin) * s.in[2] + w.begin;
  for_each_in_box(s, x, d, h, w, [&](T v, std::int64_t i) {
    if (v > best || v != v) {
      best = v;
      at = i;
    }
  });
  if (index != nullptr) *index = at;
  return best;
}

template <class T>
T mean(const PoolSizes& s, const T* x, PoolRange d, PoolRange h, PoolRange w) {
  T sum = 0;
  for (std::int64_t i = d.begin; i < d.end; ++i) {
    for (std::int64_t j = h.begin; j < h.end; ++j) {
      T row = 0;  // a separate sum per row shortens chains of rounding
      for_each_in_box(s, x, {i, i + 1}, {j, j + 1}, w, [&](T v, std::int64_t) { row = plus(row, v); });
      sum = plus(sum, row);
    }
  }
  return sum / static_cast<T>((d.end - d.begin) * (h.end - h.begin) * (w.end - w.begin));
}

/// Pools all planes. `windows(plane, axis, i)` returns the range of window i.
template <class T, class Windows>
void pool(KernelCall& c, const PoolSizes& s, bool max, Windows&& windows) {
  parallel_for(s.planes, grain_for(s.input_plane + s.output_plane), [&](std::int64_t begin, std::int64_t end) {
    T* in_buffer = thread_buffer<T>(static_cast<std::size_t>(s.input_plane), 0);
    T* out_buffer = thread_buffer<T>(static_cast<std::size_t>(s.output_plane), 1);
    for (std::int64_t p = begin; p < end; ++p) {
      const T* x = read_run(c.in[0], p * s.input_plane, s.input_plane, in_buffer);
      T* y = run_target(c.out[0], p * s.output_plane, out_buffer);
      std::int64_t* index = max && c.wants_output(1) ? c.out[1].data_as<std::int64_t>() + p * s.output_plane : nullptr;
      std::int64_t at = 0;
      for (std::int64_t i = 0; i < s.out[0]; ++i) {
        const PoolRange d = windows(p, 0, i);
        for (std::int64_t j = 0; j < s.out[1]; ++j) {
          const PoolRange h = windows(p, 1, j);
          for (std::int64_t k = 0; k < s.out[2]; ++k, ++at) {
            const PoolRange w = windows(p, 2, k);
            y[at] = max ? largest(s, x, d, h, w, index == nullptr ? nullptr : index + at) : mean(s, x, d, h, w);
          }
        }
      }
      write_run(c.out[0], p * s.output_plane, s.output_plane, y);
    }
  });
}

/// Returns floor(i * in / out), i <= out, without overflow for any sizes that fit memory.
std::int64_t scaled(std::int64_t i, std::int64_t out, std::int64_t in) {
  return i / out * in + i % out * in / out;
}

/// Computes the mean of each float plane.
void mean_of_planes(KernelCall& c, const PoolSizes& s) {
  constexpr std::int64_t kTogether = 16;  // planes summed at a time
  const planes::PlaneLoops& loops = planes::plane_loops();
  parallel_for((s.planes + kTogether - 1) / kTogether, grain_for(s.input_plane * kTogether),
               [&](std::int64_t begin, std::int64_t end) {
                 auto* buffer = thread_buffer<float>(static_cast<std::size_t>(s.input_plane * kTogether));
                 for (std::int64_t p = begin * kTogether; p < std::min(s.planes, end * kTogether); p += kTogether) {
                   const std::int64_t count = std::min(kTogether, s.planes - p);
                   float means[kTogether];
                   float* y = run_target(c.out[0], p, means);
                   loops.sums(read_run(c.in[0], p * s.input_plane, count * s.input_plane, buffer), count, s.input_plane,
                              y);
                   for (std::int64_t i = 0; i < count; ++i) y[i] /= static_cast<float>(s.input_plane);
                   write_run(c.out[0], p, count, y);
                 }
               });
}

/// True for means of whole channels-last images.
bool makes_channels_last_adaptive_pool(const KernelCall& c) {
  const TensorView &x = c.in[0], &y = c.out[0];
  const bool mean = static_cast<PoolKind>(c.node->integer(AttrKey::kind)) != PoolKind::max;
  return mean && x.dtype == DType::f32 && is_channels_last(x) && x.numel() != 0 && y.numel() == y.size(0) * y.size(1) &&
         channels_last::suits(channels_last::ChannelsLastPool{{}, x.size(0), x.size(1)});
}

/// `InOrder` sums the rows of a window, then the row sums.
template <bool InOrder>
void adaptive(KernelCall& c) {
  if (sized_output(c).numel() == 0) return;
  if (is_channels_last(c.in[0])) {
    const TensorView& x = c.in[0];
    const std::int64_t width = x.size(x.rank - 1), lines = x.numel() / (x.size(0) * x.size(1) * width);
    return channels_last::mean(x.size(0), lines, width, x.size(1), x.data_as<const float>(), c.out[0].data_as<float>());
  }
  const PoolSizes s = sizes_of(c, c.node->dims(AttrKey::sizes).size());
  const bool max = static_cast<PoolKind>(c.node->integer(AttrKey::kind)) == PoolKind::max;
  const bool floats = is_floating(c.in[0].dtype) && c.in[0].dtype != DType::f64;
  if (!InOrder && !max && s.output_plane == 1 && s.input_plane > 0 && floats) return mean_of_planes(c, s);
  const auto windows = [&](std::int64_t, std::size_t axis, std::int64_t i) {
    const std::int64_t in = s.in[axis], out = s.out[axis];
    const bool whole = (i + 1) % out * in % out == 0;
    return PoolRange{scaled(i, out, in), scaled(i + 1, out, in) + (whole ? 0 : 1)};
  };
  visit_plane_type(c.in[0].dtype, [&](auto tag) { pool<decltype(tag)>(c, s, max, windows); });
}

void fractional(KernelCall& c) {
  if (sized_output(c).numel() == 0) return;
  const std::size_t n = c.node->dims(AttrKey::kernel).size();
  const PoolSizes s = sizes_of(c, n);
  std::array<std::int64_t, 3> kernel{1, 1, 1};
  for (std::size_t i = 0; i < n; ++i) kernel[3 - n + i] = c.node->dims(AttrKey::kernel)[i].value();
  visit_plane_type(c.in[0].dtype, [&](auto tag) {
    using T = decltype(tag);
    const auto windows = [&](std::int64_t p, std::size_t axis, std::int64_t i) {
      if (axis < 3 - n) return PoolRange{};
      const std::int64_t in = s.in[axis], out = s.out[axis], k = kernel[axis];
      // Samples list the innermost axis first in two dimensions, and the outermost first in three.
      const std::int64_t number =
          n == 2 ? static_cast<std::int64_t>(2 - axis) : static_cast<std::int64_t>(axis - (3 - n));
      std::int64_t start = in - k;
      if (i != out - 1) {
        T buffer{};
        const T sample = *read_run(c.in[1], p * static_cast<std::int64_t>(n) + number, 1, &buffer);
        const T u = sample >= 0 && sample <= 1 ? sample : T(0);
        const T alpha = static_cast<T>(in - k) / static_cast<T>(out - 1);
        start = static_cast<std::int64_t>((static_cast<T>(i) + u) * alpha) - static_cast<std::int64_t>(u * alpha);
      }
      start = std::clamp<std::int64_t>(start, 0, in - k);
      return PoolRange{start, start + k};
    };
    pool<T>(c, s, true, windows);
  });
}

}  // namespace

Kernel adaptive_pool_kernel() {
  return {.run = adaptive<false>, .channels_last = makes_channels_last_adaptive_pool};
}
Kernel adaptive_pool_in_order_kernel() {
  return {.run = adaptive<true>};
}
Kernel fractional_pool_kernel() {
  return {.run = fractional};
}

}  // namespace tern::cpu
