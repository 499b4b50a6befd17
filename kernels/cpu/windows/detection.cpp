// roi_align and nms, as torchvision's CPU kernels compute them.
#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "dtypes/checked.h"
#include "kernels/cpu/contractions.h"
#include "kernels/cpu/dense.h"
#include "kernels/cpu/windows/plane_io.h"
#include "kernels/cpu/scratch.h"
#include "schema/window_kinds.h"
#include "threads/parallel.h"

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

/// A box in x's coordinates, and how its bins are filled.
template <class T>
struct Box {
  T left = 0, top = 0, bin_w = 0, bin_h = 0;
  std::int64_t samples_x = 0, samples_y = 0;
};

struct RoiProblem {
  RoiKind kind;
  double scale;
  bool aligned;
  std::int64_t ratio, channels, height, width, bins_y, bins_x;
  bool samples() const { return kind == RoiKind::align || kind == RoiKind::position_align; }
  bool by_position() const { return kind == RoiKind::position_align || kind == RoiKind::position_pool; }
};

template <class T>
Box<T> box_of(const RoiProblem& p, const T* roi) {
  const T scale = static_cast<T>(p.scale), bins_x = static_cast<T>(p.bins_x), bins_y = static_cast<T>(p.bins_y);
  Box<T> b;
  T w = 0, h = 0;
  if (p.samples()) {
    const T shift = p.aligned || p.by_position() ? T(0.5) : T(0);
    b.left = roi[1] * scale - shift;
    b.top = roi[2] * scale - shift;
    w = roi[3] * scale - shift - b.left;
    h = roi[4] * scale - shift - b.top;
    if (shift == T(0)) {
      w = std::max(w, T(1));
      h = std::max(h, T(1));
    }
  } else {
    b.left = std::round(roi[1] * scale);
    b.top = std::round(roi[2] * scale);
    const T extra = p.kind == RoiKind::pool ? T(1) : T(0);
    w = std::max(std::round(roi[3] * scale) - b.left + extra, T(1));
    h = std::max(std::round(roi[4] * scale) - b.top + extra, T(1));
  }
  b.bin_w = w / bins_x;
  b.bin_h = h / bins_y;
  // No more samples than would touch every element: boxes may have any size.
  const auto samples = [&](T bin, std::int64_t size) {
    const T most = static_cast<T>(2 * size + 2);
    return p.ratio > 0 ? p.ratio : clamped_to(std::clamp(std::ceil(bin), T(0), most));
  };
  b.samples_x = samples(b.bin_w, p.width);
  b.samples_y = samples(b.bin_h, p.height);
  return b;
}

template <class T>
T sampled_bin(const RoiProblem& p, const Box<T>& b, const T* plane, std::int64_t by, std::int64_t bx) {
  T sum = 0;
  for (std::int64_t iy = 0; iy < b.samples_y; ++iy) {
    const T y =
        b.top + static_cast<T>(by) * b.bin_h + (static_cast<T>(iy) + T(0.5)) * b.bin_h / static_cast<T>(b.samples_y);
    for (std::int64_t ix = 0; ix < b.samples_x; ++ix) {
      const T x =
          b.left + static_cast<T>(bx) * b.bin_w + (static_cast<T>(ix) + T(0.5)) * b.bin_w / static_cast<T>(b.samples_x);
      const Corner<T> k = corner(y, x, p.height, p.width);
      for (int i = 0; i < 4; ++i) sum += k.weight[i] * plane[k.index[i]];
    }
  }
  return sum / static_cast<T>(std::max<std::int64_t>(b.samples_x * b.samples_y, 1));
}

/// The elements that bin `i` of an axis covers, inside 0..size; torchvision's position-sensitive pooling leaves out the
/// last element.
template <class T>
void covered(const RoiProblem& p, T start, T bin, std::int64_t i, std::int64_t size, std::int64_t* begin,
             std::int64_t* end) {
  const T most = static_cast<T>(p.kind == RoiKind::pool ? size : size - 1);
  const T first = std::floor(static_cast<T>(i) * bin) + start, last = std::ceil(static_cast<T>(i + 1) * bin) + start;
  *begin = clamped_to(std::clamp(first, T(0), most));
  *end = clamped_to(std::clamp(last, T(0), most));
}

template <class T>
T pooled_bin(const RoiProblem& p, const Box<T>& b, const T* plane, std::int64_t by, std::int64_t bx) {
  std::int64_t y0 = 0, y1 = 0, x0 = 0, x1 = 0;
  covered(p, b.top, b.bin_h, by, p.height, &y0, &y1);
  covered(p, b.left, b.bin_w, bx, p.width, &x0, &x1);
  if (y0 >= y1 || x0 >= x1) return T(0);
  T sum = 0, best = std::numeric_limits<T>::lowest();
  for (std::int64_t y = y0; y < y1; ++y) {
    for (std::int64_t x = x0; x < x1; ++x) {
      const T v = plane[y * p.width + x];
      sum += v;
      best = v > best ? v : best;
    }
  }
  return p.kind == RoiKind::pool ? best : sum / static_cast<T>((y1 - y0) * (x1 - x0));
}

template <class T>
void roi_align_as(KernelCall& c) {
  const TensorView &x = c.in[0], &rois = c.in[1], &out = c.out[0];
  const Node& node = *c.node;
  const RoiProblem p{static_cast<RoiKind>(node.integer(AttrKey::kind)),
                     node.number(AttrKey::scale),
                     node.integer(AttrKey::align_corners) != 0,
                     node.integer(AttrKey::k),
                     out.size(1),
                     x.size(2),
                     x.size(3),
                     out.size(2),
                     out.size(3)};
  const std::int64_t size = p.height * p.width, bins = p.bins_y * p.bins_x;
  parallel_for(rois.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    T* plane_buffer = thread_buffer<T>(static_cast<std::size_t>(size), 0);
    for (std::int64_t r = begin; r < end; ++r) {
      T buffer[5];
      const T* roi = read_run(rois, r * 5, 5, buffer);
      if (!(roi[0] >= T(0) && roi[0] < static_cast<T>(x.size(0)))) {
        fail(ErrorCode::runtime, "box " + std::to_string(r) + " names an image outside the batch");
      }
      for (int i = 1; i < 5; ++i) {
        if (!std::isfinite(roi[i])) fail(ErrorCode::runtime, "box " + std::to_string(r) + " is not finite");
      }
      const Box<T> box = box_of(p, roi);
      const std::int64_t image = static_cast<std::int64_t>(roi[0]) * x.size(1);
      for (std::int64_t i = 0; i < p.channels * bins; ++i) {
        const std::int64_t channel = i / bins, bin = i % bins;
        // The plane changes with the channel, and with every bin where those have channels of their own.
        const T* plane = nullptr;
        if (p.by_position()) {
          plane = read_run(x, (image + i) * size, size, plane_buffer);
        } else if (bin == 0 || x.dtype == dtype_of_v<T>) {
          plane = read_run(x, (image + channel) * size, size, plane_buffer);
        } else {
          plane = plane_buffer;
        }
        const T value = p.samples() ? sampled_bin(p, box, plane, bin / p.bins_x, bin % p.bins_x)
                                    : pooled_bin(p, box, plane, bin / p.bins_x, bin % p.bins_x);
        const std::int64_t to = r * p.channels * bins + i;
        T target{};
        T* result = run_target(out, to, &target);
        *result = value;
        write_run(out, to, 1, result);
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
  const double threshold = c.node->number(AttrKey::value);
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
  c.allocator->allocate(0, {&count, 1}, &c.out[0]);
  std::copy(kept.begin(), kept.end(), c.out[0].as<std::int64_t>());
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
