// Convolutions of all types: copies windows of some result lines into the columns of a matrix and multiplies by the
// weight; transposed convolutions scatter the products.
#include <algorithm>

#include "kernels/cpu/accumulate.h"
#include "kernels/cpu/convolution/algorithms.h"
#include "kernels/cpu/convolution/operands.h"
#include "kernels/cpu/convolution/windows.h"
#include "kernels/cpu/products/gemm.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

template <class T>
void columns(const ConvolutionProblem& p, const T* x, std::int64_t begin, std::int64_t end, T fill, T* to) {
  const Window& w = p.window;
  const std::int64_t kernel = plane(w, &WindowAxis::kernel), width = w[2].out, ld = (end - begin) * width,
                     size = plane(w, &WindowAxis::in);
  parallel_for(p.in, std::max<std::int64_t>(1, (1 << 15) / std::max<std::int64_t>(1, kernel * ld)),
               [&](std::int64_t c0, std::int64_t c1) {
                 for (std::int64_t c = c0; c < c1; ++c) {
                   for_each_element(w, [&](std::int64_t row, std::int64_t d, std::int64_t h, std::int64_t k) {
                     T* out = to + (c * kernel + row) * ld;
                     std::int64_t inside = 0, outside = 0;
                     windows_inside(w[2], k, &inside, &outside);
                     const std::int64_t first = w[2].position(0, k);
                     for_each_line(w, d, h, begin, end, [&](std::int64_t line, std::int64_t from) {
                       T* at = out + (line - begin) * width;
                       if (from < 0) {
                         std::fill_n(at, width, fill);
                         return;
                       }
                       const T* source = x + c * size + from + first;
                       std::fill_n(at, inside, fill);
                       for (std::int64_t i = inside; i < outside; ++i) at[i] = source[i * w[2].stride];
                       std::fill(at + outside, at + width, fill);
                     });
                   });
                 }
               });
}

/// Returns the number of output lines per step; the columns stay near the second cache.
std::int64_t lines_at_a_time(const ConvolutionProblem& p) {
  const Window& w = p.window;
  const std::int64_t lines = w[0].out * w[1].out;
  const std::int64_t line = std::max<std::int64_t>(1, p.in * plane(w, &WindowAxis::kernel) * w[2].out);
  return std::clamp<std::int64_t>((1 << 18) / line, 1, std::max<std::int64_t>(lines, 1));
}

template <class T>
void forward(const ConvolutionProblem& p, const T* x, const T* weight, T* y, T* buffer) {
  const Window& w = p.window;
  const std::int64_t lines = w[0].out * w[1].out, width = w[2].out, rows = p.in * plane(w, &WindowAxis::kernel),
                     step = lines_at_a_time(p);
  const std::int64_t in_size = plane(w, &WindowAxis::in);
  for (std::int64_t g = 0; g < p.batch * p.groups; ++g) {
    const T* xg = x + g * p.in * in_size;
    const T* wg = weight + g % p.groups * p.out * rows;
    T* yg = y + g * p.out * lines * width;
    for (std::int64_t begin = 0; begin < lines; begin += step) {
      const std::int64_t end = std::min(lines, begin + step), n = (end - begin) * width;
      columns(p, xg, begin, end, static_cast<T>(p.fill), buffer);
      gemm<T>(p.out, n, rows, {wg, rows, 1}, {buffer, n, 1}, yg + begin * width, lines * width, true);
    }
  }
}

/// Returns the number of result channels per step of a transposed convolution.
std::int64_t channels_at_a_time(const ConvolutionProblem& p) {
  const std::int64_t one =
      std::max<std::int64_t>(1, plane(p.window, &WindowAxis::kernel) * plane(p.window, &WindowAxis::out));
  return std::clamp<std::int64_t>((1 << 20) / one, 1, std::max<std::int64_t>(p.out, 1));
}

template <class T>
void transposed(const ConvolutionProblem& p, const T* x, const T* weight, T* y, T* buffer) {
  const Window& w = p.window;
  const std::int64_t kernel = plane(w, &WindowAxis::kernel), lines = w[0].out * w[1].out, width = w[2].out,
                     n = lines * width;
  const std::int64_t size = plane(w, &WindowAxis::in), step = channels_at_a_time(p), row = p.out * kernel;
  for (std::int64_t g = 0; g < p.batch * p.groups; ++g) {
    const T* xg = x + g * p.in * n;
    const T* wg = weight + g % p.groups * p.in * row;
    for (std::int64_t begin = 0; begin < p.out; begin += step) {
      const std::int64_t count = std::min(step, p.out - begin);
      gemm<T>(count * kernel, n, p.in, {wg + begin * kernel, 1, row}, {xg, n, 1}, buffer, n, false);
      parallel_for(count, std::max<std::int64_t>(1, (1 << 15) / std::max<std::int64_t>(1, kernel * n)),
                   [&](std::int64_t c0, std::int64_t c1) {
                     for (std::int64_t c = c0; c < c1; ++c) {
                       T* yc = y + (g * p.out + begin + c) * size;
                       for_each_element(w, [&](std::int64_t element, std::int64_t d, std::int64_t h, std::int64_t k) {
                         const T* from = buffer + (c * kernel + element) * n;
                         std::int64_t inside = 0, outside = 0;
                         windows_inside(w[2], k, &inside, &outside);
                         const std::int64_t first = w[2].position(0, k);
                         for_each_line(w, d, h, 0, lines, [&](std::int64_t line, std::int64_t at) {
                           if (at < 0) return;
                           for (std::int64_t i = inside; i < outside; ++i) {
                             T& sum = yc[at + first + i * w[2].stride];
                             sum = plus(sum, from[line * width + i]);
                           }
                         });
                       });
                     }
                   });
    }
  }
}

template <class T>
void add_bias(T* y, const T* bias, std::int64_t lines, std::int64_t channels, std::int64_t size) {
  for (std::int64_t i = 0; i < lines; ++i) {
    for (std::int64_t k = 0; k < size; ++k) y[i * size + k] = plus(y[i * size + k], bias[i % channels]);
  }
}

class Im2colConvolution : public PreparedAlgorithm {
 public:
  explicit Im2colConvolution(const ConvolutionCall& c) : p_(c.problem), type_(gemm_type(c.call.in[0].dtype)) {}

  void reserve(const KernelCall& c, ScratchArena& arena) const override {
    const ConvolutionOperands operands(c, type_, true, arena);
    allocate_buffer(arena);
  }

  RemainingWork run(KernelCall& c, ScratchArena& arena, const pointwise::Epilogue*) const override {
    ConvolutionOperands at(c, type_, true, arena);
    std::byte* const buffer = allocate_buffer(arena);
    at.convert();
    const TensorView& y = c.out[0];
    const std::int64_t lines = y.size(0) * y.size(1), size = y.numel() / lines;
    visit_gemm_type(type_, [&](auto tag) {
      using T = decltype(tag);
      auto* to = reinterpret_cast<T*>(at.sums);
      const auto* bias = late_bias(c) ? nullptr : reinterpret_cast<const T*>(at.bias);
      // PyTorch adds the bias last to scattered products, and first to sums.
      const bool first = bias != nullptr && !p_.transposed;
      for (std::int64_t i = 0; i < lines; ++i) std::fill_n(to + i * size, size, first ? bias[i % y.size(1)] : T(0));
      if ((c.in[0].numel() != 0 || p_.fill != 0) && c.in[1].numel() != 0) {  // even an empty image has padding
        (p_.transposed ? transposed<T> : forward<T>)(p_, reinterpret_cast<const T*>(at.x),
                                                     reinterpret_cast<const T*>(at.weight), to,
                                                     reinterpret_cast<T*>(buffer));
      }
      if (bias != nullptr && p_.transposed) add_bias(to, bias, lines, y.size(1), size);
    });
    at.finish();
    if (late_bias(c)) add_bias(c.out[0].data_as<float>(), c.in[2].data_as<const float>(), lines, y.size(1), size);
    return RemainingWork::epilogue;
  }

 private:
  /// Integer sums become floats before the bias is added.
  bool late_bias(const KernelCall& c) const {
    return c.has_input(2) && type_ == DType::i64 && c.out[0].dtype == DType::f32;
  }

  std::byte* allocate_buffer(ScratchArena& arena) const {
    const std::int64_t kernel = plane(p_.window, &WindowAxis::kernel);
    const std::int64_t elements = p_.transposed ? channels_at_a_time(p_) * kernel * plane(p_.window, &WindowAxis::out)
                                                : lines_at_a_time(p_) * p_.window[2].out * p_.in * kernel;
    return arena.allocate<std::byte>(elements * element_size(type_));
  }

  ConvolutionProblem p_;
  DType type_;
};

}  // namespace

std::unique_ptr<PreparedAlgorithm> convolution_by_columns(const ConvolutionCall& c) {
  return std::make_unique<Im2colConvolution>(c);
}

}  // namespace tern::cpu
