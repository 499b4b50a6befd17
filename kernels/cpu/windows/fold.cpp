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
    a.padding_before = node.integer_at(AttrKey::before, i);
    a.out = (a.in + 2 * a.padding_before - a.dilation * (a.kernel - 1) - 1) / a.stride + 1;
    w[3 - n + i] = a;
  }
  return w;
}

/// Adds element (kernel_d, kernel_h, kernel_w) of all windows [out d, h, w] to the image [in d, h, w]; skips elements
/// in the padding.
template <class T>
void add_element(const Window& w, std::int64_t kernel_d, std::int64_t kernel_h, std::int64_t kernel_w, const T* windows,
                 T* image) {
  std::int64_t begin = 0, end = 0;
  windows_inside(w[2], kernel_w, &begin, &end);
  for (std::int64_t out_d = 0; out_d < w[0].out; ++out_d) {
    const std::int64_t in_d = w[0].position(out_d, kernel_d);
    if (in_d < 0 || in_d >= w[0].in) continue;
    for (std::int64_t out_h = 0; out_h < w[1].out; ++out_h) {
      const std::int64_t in_h = w[1].position(out_h, kernel_h);
      if (in_h < 0 || in_h >= w[1].in) continue;
      const T* window_row = windows + (out_d * w[1].out + out_h) * w[2].out;
      T* image_row = image + (in_d * w[1].in + in_h) * w[2].in + w[2].position(0, kernel_w);
      for (std::int64_t i = begin; i < end; ++i) {
        T& sum = image_row[i * w[2].stride];
        sum = plus(sum, window_row[i]);
      }
    }
  }
}

template <class T>
void fold(KernelCall& c, const Window& w) {
  const TensorView &x = c.in[0], &y = c.out[0];
  const std::int64_t kernel_volume = plane(w, &WindowAxis::kernel), windows = plane(w, &WindowAxis::out),
                     image_size = plane(w, &WindowAxis::in);
  parallel_for(y.size(0) * y.size(1), grain_for(kernel_volume * windows), [&](std::int64_t begin, std::int64_t end) {
    T* in_buffer = thread_buffer<T>(static_cast<std::size_t>(windows), 0);
    T* out_buffer = thread_buffer<T>(static_cast<std::size_t>(image_size), 1);
    for (std::int64_t channel = begin; channel < end; ++channel) {
      T* image = run_target(y, channel * image_size, out_buffer);
      std::fill_n(image, image_size, T(0));
      std::int64_t row = channel * kernel_volume;
      for (std::int64_t kernel_d = 0; kernel_d < w[0].kernel; ++kernel_d) {
        for (std::int64_t kernel_h = 0; kernel_h < w[1].kernel; ++kernel_h) {
          for (std::int64_t kernel_w = 0; kernel_w < w[2].kernel; ++kernel_w, ++row)
            add_element(w, kernel_d, kernel_h, kernel_w, read_run(x, row * windows, windows, in_buffer), image);
        }
      }
      write_run(y, channel * image_size, image_size, image);
    }
  });
}

void run_fold(KernelCall& c) {
  if (c.out[0].numel() == 0) return;
  const Window w = window_of(c);
  visit_gemm_type(gemm_type(c.in[0].dtype), [&](auto tag) { fold<decltype(tag)>(c, w); });
}

}  // namespace

Kernel fold_kernel() {
  return {.run = run_fold};
}

}  // namespace tern::cpu
