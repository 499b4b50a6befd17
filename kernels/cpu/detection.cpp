// roi_align and nms, as torchvision's CPU kernels compute them.
#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "kernels/cpu/contractions.h"
#include "kernels/cpu/dense.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/plane_io.h"
#include "kernels/cpu/scratch.h"

namespace tern::cpu {
namespace {

/// Bilinear interpolation of a plane: four places and weights; all zero outside.
template <class T>
struct Corner {
  std::int64_t index[4] = {0, 0, 0, 0};
  T weight[4] = {0, 0, 0, 0};
};

template <class T>
Corner<T> corner(T y, T x, std::int64_t height, std::int64_t width) {
  Corner<T> c;
  if (!(y >= T(-1) && y <= static_cast<T>(height) && x >= T(-1) && x <= static_cast<T>(width))) return c;
  y = std::max(y, T(0));
  x = std::max(x, T(0));
  auto y0 = static_cast<std::int64_t>(y), x0 = static_cast<std::int64_t>(x);
  std::int64_t y1 = y0 + 1, x1 = x0 + 1;
  if (y0 >= height - 1) {
    y0 = y1 = height - 1;
    y = static_cast<T>(y0);
  }
  if (x0 >= width - 1) {
    x0 = x1 = width - 1;
    x = static_cast<T>(x0);
  }
  const T ly = y - static_cast<T>(y0), lx = x - static_cast<T>(x0), hy = 1 - ly, hx = 1 - lx;
  const std::int64_t index[4] = {y0 * width + x0, y0 * width + x1, y1 * width + x0, y1 * width + x1};
  const T weight[4] = {hy * hx, hy * lx, ly * hx, ly * lx};
  std::copy_n(index, 4, c.index);
  std::copy_n(weight, 4, c.weight);
  return c;
}

template <class T>
void roi_align_as(KernelCall& c) {
  const TensorView &x = c.in[0], &rois = c.in[1], &out = c.out[0];
  const std::int64_t channels = x.size(1), height = x.size(2), width = x.size(3), bins_y = out.size(2),
                     bins_x = out.size(3);
  const T scale = static_cast<T>(c.node->number(AttrKey::scale, 1.0)),
          shift = c.node->integer(AttrKey::align_corners) != 0 ? T(0.5) : T(0);
  const std::int64_t ratio = c.node->integer(AttrKey::k, 0);
  // No more samples than would touch every element: boxes may have any size.
  const auto samples = [&](T bin, std::int64_t size) {
    return ratio > 0 ? ratio : static_cast<std::int64_t>(std::min(std::ceil(bin), static_cast<T>(2 * size + 2)));
  };
  parallel_for(rois.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    T* plane_buffer = thread_buffer<T>(static_cast<std::size_t>(height * width), 0);
    for (std::int64_t r = begin; r < end; ++r) {
      T buffer[5];
      const T* roi = read_run(rois, r * 5, 5, buffer);
      if (!(roi[0] >= T(0) && roi[0] < static_cast<T>(x.size(0))))
        fail(ErrorCode::runtime, "box " + std::to_string(r) + " names an image outside the batch");
      const T left = roi[1] * scale - shift, top = roi[2] * scale - shift;
      T w = roi[3] * scale - shift - left, h = roi[4] * scale - shift - top;
      if (shift == T(0)) {
        w = std::max(w, T(1));
        h = std::max(h, T(1));
      }
      if (!std::isfinite(left) || !std::isfinite(top) || !std::isfinite(w) || !std::isfinite(h))
        fail(ErrorCode::runtime, "box " + std::to_string(r) + " is not finite");
      const T bin_h = h / static_cast<T>(bins_y), bin_w = w / static_cast<T>(bins_x);
      const std::int64_t ny = samples(bin_h, height), nx = samples(bin_w, width);
      const T count = static_cast<T>(std::max<std::int64_t>(ny * nx, 1));
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        const T* plane = read_run(x, (static_cast<std::int64_t>(roi[0]) * channels + channel) * height * width,
                                  height * width, plane_buffer);
        for (std::int64_t by = 0; by < bins_y; ++by) {
          for (std::int64_t bx = 0; bx < bins_x; ++bx) {
            T sum = 0;
            for (std::int64_t iy = 0; iy < ny; ++iy) {
              const T y = top + static_cast<T>(by) * bin_h + (static_cast<T>(iy) + T(0.5)) * bin_h / static_cast<T>(ny);
              for (std::int64_t ix = 0; ix < nx; ++ix) {
                const T at =
                    left + static_cast<T>(bx) * bin_w + (static_cast<T>(ix) + T(0.5)) * bin_w / static_cast<T>(nx);
                const Corner<T> k = corner(y, at, height, width);
                for (int i = 0; i < 4; ++i) sum += k.weight[i] * plane[k.index[i]];
              }
            }
            sum /= count;
            const std::int64_t to = ((r * channels + channel) * bins_y + by) * bins_x + bx;
            T target{};
            T* result = run_target(out, to, &target);
            *result = sum;
            write_run(out, to, 1, result);
          }
        }
      }
    }
  });
}

void roi_align(KernelCall& c) {
  if (c.out[0].numel() == 0) return;
  if (c.in[0].size(2) == 0 || c.in[0].size(3) == 0) {
    std::fill_n(c.out[0].data, c.out[0].numel() * element_size(c.out[0].dtype), std::byte{0});
  } else if (c.in[0].dtype == DType::f64) {
    roi_align_as<double>(c);
  } else {
    roi_align_as<float>(c);
  }
}

template <class T>
void nms_as(KernelCall& c) {
  const std::int64_t n = c.in[0].size(0);
  std::vector<T> boxes(static_cast<std::size_t>(4 * n)), scores(static_cast<std::size_t>(n));
  to_dense(c.in[0], dtype_of_v<T>, boxes.data());
  to_dense(c.in[1], dtype_of_v<T>, scores.data());
  std::vector<std::int64_t> order(static_cast<std::size_t>(n)), kept;
  std::iota(order.begin(), order.end(), 0);
  // NaN before every number, as torch.sort has it.
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
    const T a = scores[static_cast<std::size_t>(i)], b = scores[static_cast<std::size_t>(j)];
    return a > b || (a != a && b == b);
  });
  const auto area = [](const T* b) { return (b[2] - b[0]) * (b[3] - b[1]); };
  const double threshold = c.node->number(AttrKey::value, 0.0);
  std::vector<char> suppressed(static_cast<std::size_t>(n), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (suppressed[i] != 0) continue;
    kept.push_back(order[i]);
    const T* a = boxes.data() + 4 * order[i];
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      if (suppressed[j] != 0) continue;
      const T* b = boxes.data() + 4 * order[j];
      const T w = std::max(T(0), std::min(a[2], b[2]) - std::max(a[0], b[0])),
              h = std::max(T(0), std::min(a[3], b[3]) - std::max(a[1], b[1]));
      const T inter = w * h;
      if (static_cast<double>(inter / (area(a) + area(b) - inter)) > threshold) suppressed[j] = 1;
    }
  }
  const auto count = static_cast<std::int64_t>(kept.size());
  c.allocator->set_symbol(0, count);
  TensorView out;
  c.allocator->allocate(0, {&count, 1}, &out);
  std::copy(kept.begin(), kept.end(), out.as<std::int64_t>());
}

void nms(KernelCall& c) {
  if (c.in[0].dtype == DType::f64) return nms_as<double>(c);
  nms_as<float>(c);
}

}  // namespace

Kernel roi_align_kernel() {
  return {roi_align, nullptr, nullptr, 0, -1};
}
Kernel nms_kernel() {
  return {nms, nullptr, nullptr, 0b11, -1};
}

}  // namespace tern::cpu
