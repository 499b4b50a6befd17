// convolution: channels last for floats on processors with fma; pointwise convolutions as matrix products; everything
// else a result plane at a time, kernel element by kernel element and channel by channel.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "dtypes/cpu_features.h"
#include "dtypes/storage.h"
#include "kernels/channels_last.h"
#include "kernels/cpu/accumulate.h"
#include "kernels/cpu/channels_last/convolve.h"
#include "kernels/cpu/convolution/problem.h"
#include "kernels/cpu/convolution/windows.h"
#include "kernels/cpu/dense.h"
#include "kernels/cpu/reproducible/contractions.h"
#include "kernels/cpu/reproducible/loops.h"
#include "kernels/cpu/reproducible/product.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::reproducible {
namespace {

using cpu::ConvolutionProblem;
using cpu::describe_convolution;
using cpu::for_each_element;
using cpu::plane;
using cpu::Window;
using cpu::WindowAxis;

channels_last::ChannelsLastShape reproducible_shape(const ConvolutionProblem& p) {
  return {p.window, p.batch, p.groups, p.in, p.out, true};
}

bool makes_channels_last(const KernelCall& c) {
  const TensorView& x = c.in[0];
  const bool floats =
      std::ranges::all_of(c.in, [](const TensorView& v) { return v.dtype == DType::f32 || v.dtype == DType::invalid; });
  if (!floats || (x.rank != 3 && x.rank != 4) || x.numel() == 0 || c.in[1].numel() == 0 || c.out[0].numel() == 0)
    return false;
  if (is_baseline_cpu() || c.node->integer(AttrKey::transposed) != 0) return false;
  return channels_last::suits(reproducible_shape(describe_convolution(c)), is_channels_last(x));
}

bool lies_so(const TensorView& v) {
  return to_channels_last_order(v, v.rank).contiguous();
}

/// Computes a line of a plane of sums along the innermost window axis, for a single kernel element and channel.
template <class T>
struct WindowLineSum {
  const WindowAxis& axis;
  std::int64_t element;
  AddScaled<T> add;

  void run(T weight, const T* line, T* sums) const {
    std::int64_t begin = 0, end = 0;
    if (line != nullptr) windows_inside(axis, element, &begin, &end);
    add_zeros(weight, sums, begin);
    if (begin < end) add(weight, line + axis.position(begin, element), axis.stride, end - begin, sums + begin);
    add_zeros(weight, sums + end, axis.out - end);
  }
  /// Adds products with the padding: they change non-finite sums and negative zeros.
  void add_zeros(T weight, T* sums, std::int64_t count) const {
    if constexpr (!std::is_integral_v<T>) {
      const T zero = 0;
      add(weight, &zero, 0, count, sums);
    }
  }
};

/// Returns the input line of x's plane under kernel element (d, h) at window line (od, oh); null in the padding.
template <class T>
const T* input_line(const Window& w, const T* x, std::int64_t od, std::int64_t oh, std::int64_t d, std::int64_t h) {
  const std::int64_t id = w[0].position(od, d), ih = w[1].position(oh, h);
  const bool inside = id >= 0 && id < w[0].in && ih >= 0 && ih < w[1].in;
  return inside ? x + (id * w[1].in + ih) * w[2].in : nullptr;
}

/// Computes the result plane of channel `o` of image `n`, without bias.
template <class T>
void forward_plane(const ConvolutionProblem& p, const T* x, const T* weight, std::int64_t n, std::int64_t o, T* y) {
  const Window& w = p.window;
  const std::int64_t kernel = plane(w, &WindowAxis::kernel), size = plane(w, &WindowAxis::in);
  const T* group = x + (n * p.groups + o / p.out) * p.in * size;
  std::fill_n(y, plane(w, &WindowAxis::out), T(0));
  for_each_element(w, [&](std::int64_t element, std::int64_t d, std::int64_t h, std::int64_t k) {
    const WindowLineSum<T> line{w[2], k, add_scaled(T{})};
    for (std::int64_t c = 0; c < p.in; ++c) {
      const T by = weight[(o * p.in + c) * kernel + element];
      T* to = y;
      for (std::int64_t od = 0; od < w[0].out; ++od) {
        for (std::int64_t oh = 0; oh < w[1].out; ++oh, to += w[2].out)
          line.run(by, input_line(w, group + c * size, od, oh, d, h), to);
      }
    }
  });
}

/// Computes a transposed convolution's plane: sums the products of each kernel element separately.
template <class T>
void transposed_plane(const ConvolutionProblem& p, const T* x, const T* weight, std::int64_t n, std::int64_t o, T* y) {
  const Window& w = p.window;  // its results are the transposed convolution's input
  const std::int64_t kernel = plane(w, &WindowAxis::kernel), size = plane(w, &WindowAxis::out), g = o / p.out;
  const T* group = x + (n * p.groups + g) * p.in * size;
  std::fill_n(y, plane(w, &WindowAxis::in), T(0));
  T* part = thread_buffer<T>(static_cast<std::size_t>(size), 0);
  for_each_element(w, [&](std::int64_t element, std::int64_t d, std::int64_t h, std::int64_t k) {
    std::fill_n(part, size, T(0));
    for (std::int64_t c = 0; c < p.in; ++c)
      add_scaled(T{})(weight[((g * p.in + c) * p.out + o % p.out) * kernel + element], group + c * size, 1, size, part);
    std::int64_t begin = 0, end = 0;
    windows_inside(w[2], k, &begin, &end);
    const T* from = part;
    for (std::int64_t od = 0; od < w[0].out; ++od) {
      for (std::int64_t oh = 0; oh < w[1].out; ++oh, from += w[2].out) {
        const T* line = input_line<T>(w, y, od, oh, d, h);
        if (line == nullptr) continue;
        T* to = y + (line - y) + w[2].position(0, k);
        for (std::int64_t i = begin; i < end; ++i) {
          T& sum = to[i * w[2].stride];
          sum = plus(sum, from[i]);
        }
      }
    }
  });
}

/// True if windows and elements of x correspond one to one, in order.
bool is_plain(const ConvolutionProblem& p) {
  return !p.transposed && std::ranges::all_of(p.window, [](const WindowAxis& a) {
    return a.kernel == 1 && a.stride == 1 && a.padding_before == 0 && a.in == a.out;
  });
}

template <class T>
void plain(const ConvolutionProblem& p, const T* x, const T* weight, T* y) {
  const std::int64_t size = plane(p.window, &WindowAxis::in);
  for (std::int64_t g = 0; g < p.batch * p.groups; ++g) {
    const T *from = x + g * p.in * size, *w = weight + g % p.groups * p.out * p.in;
    T* to = y + g * p.out * size;
    if (size == 1 && !is_complex(dtype_of_v<T>)) {  // a single row of adjacent results
      product<T>(1, p.out, p.in, {from, 0, 1}, {w, 1, p.in}, to, p.out);
    } else {
      product<T>(p.out, size, p.in, {w, p.in, 1}, {from, size, 1}, to, size);
    }
  }
}

template <class T>
void convolve(const ConvolutionProblem& p, const T* x, const T* weight, const T* bias, T* y) {
  const std::int64_t channels = p.groups * p.out,
                     size = plane(p.window, p.transposed ? &WindowAxis::in : &WindowAxis::out);
  if (is_plain(p)) plain<T>(p, x, weight, y);
  const std::int64_t cost = size * (is_plain(p) ? 1 : p.in * plane(p.window, &WindowAxis::kernel));
  parallel_for(p.batch * channels, grain_for(cost), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      T* to = y + i * size;
      if (!is_plain(p))
        (p.transposed ? transposed_plane<T> : forward_plane<T>)(p, x, weight, i / channels, i % channels, to);
      if (bias == nullptr) continue;
      const T b = bias[i % channels];
      for (std::int64_t k = 0; k < size; ++k) to[k] = plus(to[k], b);
    }
  });
}

struct ConvolutionBuffers {
  std::byte *x = nullptr, *weight = nullptr, *bias = nullptr, *y = nullptr;
};
ConvolutionBuffers buffers(const KernelCall& c, ScratchArena& arena) {
  const DType type = gemm_type(c.in[0].dtype);
  const auto part = [&](const TensorView& v) {
    return v.dtype == type || v.dtype == DType::invalid ? nullptr
                                                        : arena.allocate<std::byte>(v.numel() * element_size(type));
  };
  return {part(c.in[0]), part(c.in[1]), c.has_input(2) ? part(c.in[2]) : nullptr, part(c.out[0])};
}

std::size_t scratch_convolution(const KernelCall& c) {
  ScratchArena arena;
  buffers(c, arena);
  return arena.used();
}

/// Returns operand `i` in `type`: in place, or converted into `buffer`.
const std::byte* operand(const KernelCall& c, std::size_t i, DType type, std::byte* buffer) {
  if (!c.has_input(i)) return nullptr;
  if (buffer == nullptr) return c.in[i].data;
  to_dense(c.in[i], type, buffer);
  return buffer;
}

void run_convolution(KernelCall& c) {
  if (c.out[0].numel() == 0) return;
  const ConvolutionProblem p = describe_convolution(c);
  if (makes_channels_last(c) && lies_so(c.in[0]) && lies_so(c.out[0])) {
    const channels_last::ChannelsLastShape convolution = reproducible_shape(p);
    return (convolution.depthwise() ? channels_last::convolve_depthwise : channels_last::convolve)(
        convolution,
        {c.in[0].data_as<const float>(), c.in[1].data_as<const float>(),
         c.has_input(2) ? c.in[2].data_as<const float>() : nullptr, c.out[0].data_as<float>()},
        {});
  }
  Scratch own(c, scratch_convolution(c));
  ScratchArena arena(own.data());
  const ConvolutionBuffers at = buffers(c, arena);
  const DType type = gemm_type(c.in[0].dtype);
  std::byte* sums = at.y != nullptr ? at.y : c.out[0].data;
  visit_gemm_type(type, [&](auto tag) {
    using T = decltype(tag);
    convolve<T>(p, reinterpret_cast<const T*>(operand(c, 0, type, at.x)),
                reinterpret_cast<const T*>(operand(c, 1, type, at.weight)),
                reinterpret_cast<const T*>(operand(c, 2, type, at.bias)), reinterpret_cast<T*>(sums));
  });
  if (at.y != nullptr) from_dense(sums, type, c.out[0]);
}

}  // namespace

Kernel convolution_kernel() {
  return {
      .run = run_convolution, .scratch = scratch_convolution, .strided = ~0b111u, .channels_last = makes_channels_last};
}

}  // namespace tern::reproducible
