// fold: sums the columns of windows at their source positions.
#include "kernels/cpu/accumulate.h"
#include "kernels/cpu/contractions.h"
#include "kernels/cpu/products/gemm.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/windows/plane_io.h"
#include "kernels/cpu/windows/window.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

Window window_of(const KernelCall& c) {
  const Node& node = *c.node;
  Window w;
  const std::size_t n = node.dims(AttrKey::kernel).size();
  for (std::size_t i = 0; i < n; ++i) {
    WindowAxis a{c.out[0].size(static_cast<int>(i) + 2)};
    a.kernel = node.integer_at(AttrKey::kernel, i);
    a.stride = node.integer_at(AttrKey::strides, i);
    a.dilation = node.integer_at(AttrKey::dilations, i);
    a.before = node.integer_at(AttrKey::before, i);
    a.out = (a.in + 2 * a.before - a.dilation * (a.kernel - 1) - 1) / a.stride + 1;
    w[3 - n + i] = a;
  }
  return w;
}

/// Adds the lines of window element (d, h, k), a line per line of windows.
template <class T>
void add_element(const Window& w, std::int64_t d, std::int64_t h, std::int64_t k, const T* from, T* to) {
  std::int64_t begin = 0, end = 0;
  windows_inside(w[2], k, &begin, &end);
  for (std::int64_t od = 0; od < w[0].out; ++od) {
    const std::int64_t z = w[0].position(od, d);
    if (z < 0 || z >= w[0].in) continue;
    for (std::int64_t oh = 0; oh < w[1].out; ++oh) {
      const std::int64_t y = w[1].position(oh, h);
      if (y < 0 || y >= w[1].in) continue;
      const T* line = from + (od * w[1].out + oh) * w[2].out;
      T* at = to + (z * w[1].in + y) * w[2].in + w[2].position(0, k);
      for (std::int64_t i = begin; i < end; ++i) {
        T& sum = at[i * w[2].stride];
        sum = plus(sum, line[i]);
      }
    }
  }
}

template <class T>
void fold(KernelCall& c, const Window& w) {
  const TensorView &x = c.in[0], &y = c.out[0];
  const std::int64_t kernel = plane(w, &WindowAxis::kernel), windows = plane(w, &WindowAxis::out),
                     size = plane(w, &WindowAxis::in);
  parallel_for(y.size(0) * y.size(1), grain_for(kernel * windows), [&](std::int64_t begin, std::int64_t end) {
    T* in_buffer = thread_buffer<T>(static_cast<std::size_t>(windows), 0);
    T* out_buffer = thread_buffer<T>(static_cast<std::size_t>(size), 1);
    for (std::int64_t p = begin; p < end; ++p) {
      T* to = run_target(y, p * size, out_buffer);
      std::fill_n(to, size, T(0));
      std::int64_t row = p * kernel;
      for (std::int64_t d = 0; d < w[0].kernel; ++d) {
        for (std::int64_t h = 0; h < w[1].kernel; ++h) {
          for (std::int64_t k = 0; k < w[2].kernel; ++k, ++row)
            add_element(w, d, h, k, read_run(x, row * windows, windows, in_buffer), to);
        }
      }
      write_run(y, p * size, size, to);
    }
  });
}

void run(KernelCall& c) {
  if (c.out[0].numel() == 0) return;
  const Window w = window_of(c);
  visit_gemm_type(gemm_type(c.in[0].dtype), [&](auto tag) { fold<decltype(tag)>(c, w); });
}

}  // namespace

Kernel fold_kernel() {
  return {.run = run};
}

}  // namespace tern::cpu
