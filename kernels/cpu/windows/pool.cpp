// pool: windows over the last axes. Floats use padded planes; other types compute an output line at a time, window
// element by window element, so the inner loop runs along the line.
#include "kernels/cpu/planes/pool.h"

#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "dtypes/byte_integers.h"
#include "kernels/channels_last.h"
#include "kernels/cpu/accumulate.h"
#include "kernels/cpu/channels_last/pool.h"
#include "kernels/cpu/contractions.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/windows/plane_io.h"
#include "kernels/cpu/windows/window.h"
#include "schema/absent.h"
#include "schema/window_kinds.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

struct PoolProblem {
  Window window;
  std::int64_t planes = 0, in = 0, out = 0;
  bool max = true, count_pads = false;
  std::int64_t divisor = 0;  ///< 0: absent
};

PoolProblem describe_pool(const KernelCall& c) {
  const Node& node = *c.node;
  const TensorView &x = c.in[0], &y = sized_output(c);
  PoolProblem p;
  const std::size_t n = node.dims(AttrKey::kernel).size();
  for (std::size_t i = 0; i < n; ++i) {
    const int axis = x.rank - static_cast<int>(n - i);
    WindowAxis a{x.size(axis), y.size(axis)};
    a.kernel = node.integer_at(AttrKey::kernel, i);
    a.stride = pool_stride(node, i);
    a.dilation = node.integer_at(AttrKey::dilations, i);
    a.padding_before = node.integer_at(AttrKey::before, i);
    p.window[3 - n + i] = a;
  }
  p.in = plane(p.window, &WindowAxis::in);
  p.out = plane(p.window, &WindowAxis::out);
  p.planes = y.numel() / std::max<std::int64_t>(1, p.out);
  p.max = static_cast<PoolKind>(node.integer(AttrKey::kind)) == PoolKind::max;
  p.count_pads = node.integer(AttrKey::count_pads) != 0;
  p.divisor = node.integer(AttrKey::divisor);
  return p;
}

/// Calls f(input line, window element k, first and last window of the output line with k inside).
template <class F>
void for_each_row(const Window& w, std::int64_t od, std::int64_t oh, F&& f) {
  std::int64_t d0 = 0, d1 = 0, h0 = 0, h1 = 0;
  elements_inside(w[0], od, &d0, &d1);
  elements_inside(w[1], oh, &h0, &h1);
  for (std::int64_t d = d0; d < d1; ++d) {
    for (std::int64_t h = h0; h < h1; ++h) {
      const std::int64_t line = w[0].position(od, d) * w[1].in + w[1].position(oh, h);
      // No window reaches elements beyond line and padding together.
      const std::int64_t reach = (w[2].in - 1 + w[2].padding_before) / w[2].dilation + 1;
      for (std::int64_t k = 0; k < std::min(w[2].kernel, reach); ++k) {
        std::int64_t begin = 0, end = 0;
        windows_inside(w[2], k, &begin, &end);
        if (begin < end) f(line * w[2].in, k, begin, end);
      }
    }
  }
}

template <class T>
void fill_lowest(T* y, std::int64_t width) {
  std::fill_n(
      y, width,
      std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest());
}

template <class T>
void max_line(const Window& w, const T* x, std::int64_t od, std::int64_t oh, T* y) {
  fill_lowest(y, w[2].out);
  for_each_row(w, od, oh, [&](std::int64_t line, std::int64_t k, std::int64_t begin, std::int64_t end) {
    const T* from = x + line + w[2].position(0, k);
    for (std::int64_t i = begin; i < end; ++i) {
      const T v = from[i * w[2].stride];
      y[i] = v > y[i] || is_nan(v) ? v : y[i];
    }
  });
}

/// Buffers for a line of elements and a line of positions in the plane. Positions as wide as elements let compilers
/// vectorize the loop.
template <class T, class Position>
struct MaxPoolLine {
  T* values;
  Position* positions;
  explicit MaxPoolLine(std::size_t width)
      : values(thread_buffer<T>(width, 2)), positions(thread_buffer<Position>(width, 3)) {}
};

/// Like the other max_line, with the position of each result.
template <class T, class Position>
void max_line(const Window& w, const T* x, std::int64_t od, std::int64_t oh, T* y, std::int64_t* index,
              const MaxPoolLine<T, Position>& own) {
  const std::int64_t width = w[2].out, stride = w[2].stride;
  fill_lowest(y, width);
  std::fill_n(own.positions, width, Position{-1});
  for_each_row(w, od, oh, [&](std::int64_t line, std::int64_t k, std::int64_t begin, std::int64_t end) {
    const std::int64_t first = line + w[2].position(0, k);
    for (std::int64_t i = begin; i < end; ++i) own.values[i] = x[first + i * stride];
    for (std::int64_t i = begin; i < end; ++i) {
      const T v = own.values[i];
      const auto place = static_cast<Position>(first + i * stride);
      const bool takes = (own.positions[i] < 0) | (v > y[i]) | is_nan(v);
      y[i] = takes ? v : y[i];
      own.positions[i] = takes ? place : own.positions[i];
    }
  });
  std::copy_n(own.positions, width, index);
}

template <class T, class Position>
void max_plane(const Window& w, const T* x, T* y, std::int64_t* index) {
  const MaxPoolLine<T, Position> line(static_cast<std::size_t>(w[2].out));
  for (std::int64_t row = 0; row < w[0].out * w[1].out; ++row) {
    const std::int64_t at = row * w[2].out;
    max_line(w, x, row / w[1].out, row % w[1].out, y + at, index + at, line);
  }
}

/// Counts the elements of window o along an axis: inside, and inside or in the padding.
void counts(const WindowAxis& a, std::int64_t o, std::int64_t* inside, std::int64_t* padded) {
  const std::int64_t start = a.position(o, 0), end = std::min(start + a.kernel, a.in + a.padding_before);
  *padded = end - start;
  *inside = std::max<std::int64_t>(0, std::min(end, a.in) - std::max<std::int64_t>(start, 0));
}

template <class T>
void average_line(const PoolProblem& p, const T* x, std::int64_t od, std::int64_t oh, T* y) {
  const Window& w = p.window;
  const std::int64_t width = w[2].out, stride = w[2].stride;
  std::fill_n(y, width, T(0));
  for_each_row(w, od, oh, [&](std::int64_t line, std::int64_t k, std::int64_t begin, std::int64_t end) {
    const T* from = x + line + w[2].position(0, k);
    for (std::int64_t i = begin; i < end; ++i) y[i] = plus(y[i], from[i * stride]);
  });
  std::int64_t inside_d = 0, padded_d = 0, inside_h = 0, padded_h = 0;
  counts(w[0], od, &inside_d, &padded_d);
  counts(w[1], oh, &inside_h, &padded_h);
  for (std::int64_t i = 0; i < width; ++i) {
    std::int64_t inside = 0, padded = 0;
    counts(w[2], i, &inside, &padded);
    const std::int64_t number = p.divisor != 0 ? p.divisor
                                : p.count_pads ? padded_d * padded_h * padded
                                               : inside_d * inside_h * inside;
    if (inside_d * inside_h * inside > 0 && number != 0) y[i] = quotient(y[i], static_cast<T>(number));
  }
}

/// The divisor of each mean is its row's divisor times its column's.
class Divisors {
 public:
  explicit Divisors(const PoolProblem& p) : h_(axis(p, 1)), w_(axis(p, 2)) {}
  std::span<const float> rows() const { return h_; }
  std::span<const float> columns() const { return w_; }
  void apply(float* y) const {
    const planes::PlaneLoops& loops = planes::plane_loops();
    const auto width = static_cast<std::int64_t>(w_.size());
    for (const float row : h_) {
      loops.divide(y, row, w_.data(), width);
      y += width;
    }
  }

 private:
  static std::vector<float> axis(const PoolProblem& p, std::size_t i) {
    const WindowAxis& a = p.window[i];
    std::vector<float> v(static_cast<std::size_t>(a.out), i == 1 ? static_cast<float>(p.divisor) : 1.0F);
    for (std::int64_t o = 0; p.divisor == 0 && o < a.out; ++o) {
      std::int64_t inside = 0, padded = 0;
      counts(a, o, &inside, &padded);
      // Empty sums stay zero.
      v[static_cast<std::size_t>(o)] = static_cast<float>(std::max<std::int64_t>(1, p.count_pads ? padded : inside));
    }
    return v;
  }
  std::vector<float> h_, w_;
};

void pool_planes(KernelCall& c, const PoolProblem& p) {
  const std::int64_t kernel = p.window[1].kernel * p.window[2].kernel;
  const Divisors divisors(p);
  parallel_for(p.planes, grain_for(p.in + p.out * kernel / 4), [&](std::int64_t begin, std::int64_t end) {
    planes::Pooling pooling(p.window, p.max);
    auto* in_buffer = thread_buffer<float>(static_cast<std::size_t>(p.in), 0);
    auto* out_buffer = thread_buffer<float>(static_cast<std::size_t>(p.out), 1);
    for (std::int64_t i = begin; i < end; ++i) {
      float* y = run_target(c.out[0], i * p.out, out_buffer);
      pooling.run(read_run(c.in[0], i * p.in, p.in, in_buffer), y);
      if (!p.max) divisors.apply(y);
      write_run(c.out[0], i * p.out, p.out, y);
    }
  });
}

channels_last::ChannelsLastPool channels_last_pool(const KernelCall& c) {
  return {describe_pool(c).window, c.in[0].size(0), c.in[0].size(1)};
}

/// True for channels-last images.
bool makes_channels_last_pool(const KernelCall& c) {
  const DType dtype = c.in[0].dtype;
  const bool bytes = is_byte_integer(dtype) && describe_pool(c).max;
  return (dtype == DType::f32 || bytes) && is_channels_last(c.in[0]) && c.out[0].numel() != 0 &&
         c.node->dims(AttrKey::kernel).size() + 2 == static_cast<std::size_t>(c.in[0].rank) &&
         channels_last::suits(channels_last_pool(c));
}

void pool_with_channels_last(const KernelCall& c, const PoolProblem& p) {
  const channels_last::ChannelsLastPool pool = channels_last_pool(c);
  if (c.in[0].dtype == DType::u8)
    return max_pool(pool, c.in[0].data_as<const std::uint8_t>(), c.out[0].data_as<std::uint8_t>());
  if (c.in[0].dtype == DType::i8)
    return max_pool(pool, c.in[0].data_as<const std::int8_t>(), c.out[0].data_as<std::int8_t>());
  const auto* x = c.in[0].data_as<const float>();
  auto* y = c.out[0].data_as<float>();
  if (p.max) return channels_last::max_pool(pool, x, y);
  const Divisors divisors(p);
  channels_last::average_pool(pool, x, divisors.rows(), divisors.columns(), y);
}

template <class T>
void pool(KernelCall& c, const PoolProblem& p) {
  const Window& w = p.window;
  std::int64_t kernel = 1;
  for (const WindowAxis& a : w) kernel *= std::min(a.kernel, a.in + 1);
  parallel_for(p.planes, grain_for(p.out * kernel), [&](std::int64_t begin, std::int64_t end) {
    T* in_buffer = thread_buffer<T>(static_cast<std::size_t>(p.in), 0);
    T* out_buffer = thread_buffer<T>(static_cast<std::size_t>(p.out), 1);
    for (std::int64_t i = begin; i < end; ++i) {
      const T* x = read_run(c.in[0], i * p.in, p.in, in_buffer);
      T* y = run_target(c.out[0], i * p.out, out_buffer);
      if (p.max && c.wants_output(1)) {
        std::int64_t* index = c.out[1].data_as<std::int64_t>() + i * p.out;
        if (sizeof(T) < 8 && p.in <= std::numeric_limits<std::int32_t>::max()) {
          max_plane<T, std::int32_t>(w, x, y, index);
        } else {
          max_plane<T, std::int64_t>(w, x, y, index);
        }
      }
      for (std::int64_t row = 0; row < w[0].out * w[1].out && !(p.max && c.wants_output(1)); ++row) {
        const std::int64_t od = row / w[1].out, oh = row % w[1].out, at = row * w[2].out;
        if (p.max) {
          max_line(w, x, od, oh, y + at);
        } else {
          average_line(p, x, od, oh, y + at);
        }
      }
      write_run(c.out[0], i * p.out, p.out, y);
    }
  });
}

/// `InOrder` adds the elements of each window sequentially, row by row.
template <bool InOrder>
void run_pool(KernelCall& c) {
  if (sized_output(c).numel() == 0) return;
  const PoolProblem p = describe_pool(c);
  if (is_channels_last(c.in[0])) return pool_with_channels_last(c, p);
  if (p.max && c.in[0].dtype == DType::u64) return pool<std::uint64_t>(c, p);  // int64_t cannot hold all values
  visit_plane_type(c.in[0].dtype, [&](auto tag) {
    if constexpr (std::is_same_v<decltype(tag), float>) {
      if (!c.wants_output(1) && (p.max || !InOrder) && planes::is_plane_pool(p.window)) return pool_planes(c, p);
    }
    pool<decltype(tag)>(c, p);
  });
}

}  // namespace

Kernel pool_kernel() {
  return {.run = run_pool<false>, .channels_last = makes_channels_last_pool};
}
Kernel pool_in_order_kernel() {
  return {.run = run_pool<true>, .channels_last = makes_channels_last_pool};
}

}  // namespace tern::cpu
