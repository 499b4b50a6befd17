// roi_align: finds the samples of a box's bins and their weights once, then applies these to every channel.
#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "dtypes/levels.h"
#include "kernels/cpu/contractions.h"
#include "kernels/cpu/scratch.h"
#include "schema/window_kinds.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

template <class T>
struct RoiSettings {
  std::int64_t bins_y, bins_x, height, width, ratio;
  T scale, shift;
};

/// Samples of consecutive bins: four elements of the plane and their weights.
template <class T>
struct RoiSamples {
  struct Sample {
    std::int32_t index[4];
    T weight[4];
  };
  struct Bin {
    std::int64_t number, end;  ///< `end`: of its samples
  };
  std::vector<Sample> samples;
  std::vector<Bin> bins;
};

/// Adds the weighted samples of all bins to `to`, the bins of a channel.
template <class T>
void add_samples(const RoiSamples<T>& s, const T* plane, T* to) {
  visit_cpu_level([&](auto) __attribute__((always_inline)) {
    std::int64_t at = 0;
    for (const auto& bin : s.bins) {
      T sum = to[bin.number];
      for (; at < bin.end; ++at) {
        const auto& sample = s.samples[static_cast<std::size_t>(at)];
        sum += sample.weight[0] * plane[sample.index[0]] + sample.weight[1] * plane[sample.index[1]] +
               sample.weight[2] * plane[sample.index[2]] + sample.weight[3] * plane[sample.index[3]];
      }
      to[bin.number] = sum;
    }
  });
}

/// The elements around position y, x, and their weights; false outside the plane.
template <class T>
bool find_sample(T y, T x, const RoiSettings<T>& r, typename RoiSamples<T>::Sample& s) {
  if (!(y >= -1 && y <= static_cast<T>(r.height) && x >= -1 && x <= static_cast<T>(r.width))) return false;
  const auto around = [](T& v, std::int64_t size, std::int64_t* low, std::int64_t* high) {
    v = std::max(v, T(0));
    *low = static_cast<std::int64_t>(v);
    *high = *low + 1;
    if (*low >= size - 1) {
      *low = *high = size - 1;
      v = static_cast<T>(*low);
    }
    return v - static_cast<T>(*low);
  };
  std::int64_t top, bottom, left, right;
  const T down = around(y, r.height, &top, &bottom), across = around(x, r.width, &left, &right);
  const std::int64_t index[4] = {top * r.width + left, top * r.width + right, bottom * r.width + left,
                                 bottom * r.width + right};
  const T weight[4] = {(1 - down) * (1 - across), (1 - down) * across, down * (1 - across), down * across};
  for (int k = 0; k < 4; ++k) {
    s.index[k] = static_cast<std::int32_t>(index[k]);
    s.weight[k] = weight[k];
  }
  return true;
}

/// Number of samples along an axis of a bin: at most about all elements, because boxes may have any size.
template <class T>
std::int64_t sample_count(T bin, std::int64_t size, std::int64_t ratio) {
  if (ratio > 0) return ratio;
  const T count = std::ceil(bin);
  return count > 0 ? static_cast<std::int64_t>(std::min(count, static_cast<T>(2 * size + 2))) : 0;
}

/// All bins and channels of a box. `image`: the first channel; `to`: the first bin.
template <class T>
void align_box(const T* box, const RoiSettings<T>& r, const T* image, std::int64_t channels, RoiSamples<T>& found,
               T* to) {
  constexpr std::size_t kMost = 4096;
  const std::int64_t bins = r.bins_y * r.bins_x, plane = r.height * r.width;
  const T left = box[1] * r.scale - r.shift, top = box[2] * r.scale - r.shift;
  T width = box[3] * r.scale - r.shift - left, height = box[4] * r.scale - r.shift - top;
  if (r.shift == 0) {
    width = std::max(width, T(1));
    height = std::max(height, T(1));
  }
  const T bin_w = width / static_cast<T>(r.bins_x), bin_h = height / static_cast<T>(r.bins_y);
  const std::int64_t columns = sample_count(bin_w, r.width, r.ratio), rows = sample_count(bin_h, r.height, r.ratio);
  std::fill_n(to, channels * bins, T(0));
  const auto flush = [&] {
    for (std::int64_t channel = 0; channel < channels; ++channel)
      add_samples(found, image + channel * plane, to + channel * bins);
    found.samples.clear();
    found.bins.clear();
  };
  for (std::int64_t bin = 0; bin < bins; ++bin) {
    const T y_start = top + static_cast<T>(bin / r.bins_x) * bin_h,
            x_start = left + static_cast<T>(bin % r.bins_x) * bin_w;
    for (std::int64_t i = 0; i < rows; ++i) {
      const T y = y_start + (static_cast<T>(i) + T(0.5)) * bin_h / static_cast<T>(rows);
      for (std::int64_t j = 0; j < columns; ++j) {
        const T x = x_start + (static_cast<T>(j) + T(0.5)) * bin_w / static_cast<T>(columns);
        typename RoiSamples<T>::Sample sample;
        if (find_sample(y, x, r, sample)) found.samples.push_back(sample);
      }
      if (found.samples.size() < kMost) continue;
      found.bins.push_back({bin, static_cast<std::int64_t>(found.samples.size())});
      flush();
    }
    if (!found.samples.empty()) found.bins.push_back({bin, static_cast<std::int64_t>(found.samples.size())});
  }
  flush();
  const T count = static_cast<T>(std::max<std::int64_t>(1, rows * columns));
  for (std::int64_t i = 0; i < channels * bins; ++i) to[i] /= count;
}

template <class T>
void align(KernelCall& c) {
  const TensorView &x = c.in[0], &rois = c.in[1], &out = c.out[0];
  const Node& node = *c.node;
  const RoiSettings<T> r{out.size(2),
                         out.size(3),
                         x.size(2),
                         x.size(3),
                         node.integer(AttrKey::k),
                         static_cast<T>(node.number(AttrKey::scale)),
                         node.integer(AttrKey::align_corners) != 0 ? T(0.5) : T(0)};
  const std::int64_t channels = x.size(1), result = channels * r.bins_y * r.bins_x,
                     image = channels * r.height * r.width;
  parallel_for(out.size(0), grain_for(result * 8), [&](std::int64_t begin, std::int64_t end) {
    RoiSamples<T> found;
    for (std::int64_t box = begin; box < end; ++box) {
      const T* at = rois.data_as<const T>() + box * 5;
      if (!(at[0] >= 0 && at[0] < static_cast<T>(x.size(0))) ||
          !std::all_of(at + 1, at + 5, [](T v) { return std::isfinite(v); }))
        fail(ErrorCode::runtime, "a box is not finite or names an image outside the batch");
      T* to = out.data_as<T>() + box * result;
      if (image > 0) {
        align_box(at, r, x.data_as<const T>() + static_cast<std::int64_t>(at[0]) * image, channels, found, to);
      } else {
        std::fill_n(to, result, T(0));
      }
    }
  });
}

void run_roi_align(KernelCall& c) {
  if (c.out[0].numel() == 0) return;
  if (c.in[0].dtype == DType::f64) return align<double>(c);
  align<float>(c);
}

bool serves_roi_align(const KernelCall& c) {
  return static_cast<RoiKind>(c.node->integer(AttrKey::kind)) == RoiKind::align &&
         (c.in[0].dtype == DType::f32 || c.in[0].dtype == DType::f64) &&
         c.in[0].size(2) * c.in[0].size(3) < std::int64_t{1} << 31;
}

}  // namespace

Kernel roi_align_kernel() {
  return {.run = run_roi_align, .serves = serves_roi_align};
}

}  // namespace tern::cpu
