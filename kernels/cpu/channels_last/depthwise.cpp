#include <algorithm>
#include <vector>

#include "kernels/cpu/channels_last/band.h"
#include "kernels/cpu/channels_last/convolve.h"
#include "kernels/cpu/channels_last/loops.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/scratch.h"

namespace tern::channels_last {
namespace {

using cpu::WindowAxis;

constexpr std::int64_t kFewLines = 16;           // fewer than that for each thread: they share channels
constexpr std::int64_t kUnit = 16;               // channels: the most that a register holds
constexpr std::int64_t kWorthAThread = 1 << 15;  // products
constexpr std::int64_t kBand = 64 << 10;         // floats of input lines that are copied at a time
constexpr std::size_t kBandSlot = 5, kWeightSlot = 6;

/// Weights and biases of `channels` channels, the channels side by side.
struct Weights {
  float *weight, *bias;
};
Weights gather(const Operands& at, std::int64_t first, std::int64_t channels, std::int64_t taps) {
  auto* to = thread_buffer<float>(static_cast<std::size_t>(channels * (taps + 1)), kWeightSlot);
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t t = 0; t < taps; ++t) to[t * channels + c] = at.weight[(first + c) * taps + t];
    to[taps * channels + c] = at.bias == nullptr ? 0.0F : at.bias[first + c];
  }
  return {to, to + taps * channels};
}

/// The elements [begin, end) of an axis of the kernel that lie inside the image at window `i`.
struct Inside {
  std::int64_t begin, end;
  friend bool operator==(const Inside&, const Inside&) = default;
};
Inside inside(const WindowAxis& a, std::int64_t i) {
  const std::int64_t first = a.position(i, 0);
  const std::int64_t begin = first >= 0 ? 0 : (-first + a.dilation - 1) / a.dilation;
  return {begin, std::clamp<std::int64_t>((a.in - 1 - first) / a.dilation + 1, begin, a.kernel)};
}

/// Neighbouring windows of a line that have the same elements inside.
struct Segment {
  std::int64_t first, count;
  Inside elements;
};
std::vector<Segment> segments_of(const WindowAxis& w) {
  std::vector<Segment> all;
  for (std::int64_t i = 0; i < w.out; ++i) {
    const Inside elements = inside(w, i);
    if (all.empty() || all.back().elements != elements) all.push_back({i, 0, elements});
    ++all.back().count;
  }
  return all;
}

/// Channels [first, first + channels) of lines [begin, end) of all images. Nothing is copied: windows at the edges have
/// fewer elements.
void run(const Convolution& c, const Operands& at, const pointwise::Finish& finish, std::int64_t begin,
         std::int64_t end, std::int64_t first, std::int64_t channels) {
  const WindowAxis &h = c.window[1], &w = c.window[2];
  const std::int64_t all = c.groups, line = w.in * all;
  const auto kernel = static_cast<std::size_t>(h.kernel * w.kernel);
  const Weights weights = gather(at, first, channels, h.kernel * w.kernel);
  const std::vector<Segment> segments = segments_of(w);
  std::vector<std::ptrdiff_t> taps(2 * kernel);
  for (std::int64_t i = begin; i < end; ++i) {
    const Inside rows = inside(h, i % h.out);
    const float* image = at.x + i / h.out * h.in * line + first;
    float* y = at.y + i * w.out * all + first;
    for (const Segment& s : segments) {
      std::size_t count = 0;
      for (std::int64_t r = rows.begin; r < rows.end; ++r) {
        for (std::int64_t k = s.elements.begin; k < s.elements.end; ++k, ++count) {
          taps[count] = h.position(i % h.out, r) * line + w.position(s.first, k) * all;
          taps[kernel + count] = (r * w.kernel + k) * channels;
        }
      }
      loops().depthwise({image, w.stride * all, taps.data(), static_cast<std::ptrdiff_t>(count), channels, s.count,
                         y + s.first * all, all},
                        weights.weight, taps.data() + kernel, weights.bias);
    }
    if (finish.epilogue != nullptr) finish.apply(y, all, w.out, channels, i * w.out * all + first, all);
  }
}

/// Lines [begin, end) of all images, every element of every window multiplied in order, the bias added last.
void run_in_order(const Convolution& c, const Operands& at, const pointwise::Finish& finish, std::int64_t begin,
                  std::int64_t end) {
  const WindowAxis &h = c.window[1], &w = c.window[2];
  const std::int64_t all = c.groups, kernel = h.kernel * w.kernel;
  const Image image{c.window, all, all};
  const bool inside = is_inside(c.window);
  const std::int64_t most = std::clamp<std::int64_t>(kBand / (h.stride * w.in * all), 1, end - begin);
  Band band(image, inside, 0,
            inside ? nullptr : thread_buffer<float>(static_cast<std::size_t>(Band::floats(image, most)), kBandSlot));
  const Weights weights = gather(at, 0, all, kernel);
  const std::vector<float> zeros(static_cast<std::size_t>(all));
  std::vector<std::ptrdiff_t> weight_taps(static_cast<std::size_t>(kernel));
  for (std::size_t t = 0; t < weight_taps.size(); ++t) weight_taps[t] = static_cast<std::ptrdiff_t>(t) * all;
  while (begin < end) {
    const std::int64_t n = begin / h.out, top = begin % h.out, count = std::min({most, end - begin, h.out - top});
    band.load(at.x + n * all * h.in * w.in, top, top + count);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t first = (begin + i) * w.out * all;
      float* y = at.y + first;
      loops().depthwise({band.line(top + i), band.step(), band.taps().data(), kernel, all, w.out, y, all},
                        weights.weight, weight_taps.data(), zeros.data());
      for (std::int64_t p = 0; at.bias != nullptr && p < w.out; ++p) {
        for (std::int64_t channel = 0; channel < all; ++channel) y[p * all + channel] += weights.bias[channel];
      }
      if (finish.epilogue != nullptr) finish.apply(y, all, w.out, all, first, all);
    }
    begin += count;
  }
}

}  // namespace

void convolve_depthwise(const Convolution& c, const Operands& at, const pointwise::Finish& finish) {
  const std::int64_t lines = c.batch * c.window[1].out;
  if (c.in_order) {
    const std::int64_t products = c.window[2].out * cpu::plane(c.window, &WindowAxis::kernel) * c.groups;
    return parallel_for(lines, kWorthAThread / products + 1,
                        [&](std::int64_t begin, std::int64_t end) { run_in_order(c, at, finish, begin, end); });
  }
  const std::int64_t line = c.window[2].out * cpu::plane(c.window, &WindowAxis::kernel) * c.groups;
  const std::int64_t units = c.groups / kUnit;  // the last one takes the remainder
  if (lines >= kFewLines * omp_get_max_threads() || units < omp_get_max_threads()) {
    parallel_for(lines, kWorthAThread / line + 1,
                 [&](std::int64_t begin, std::int64_t end) { run(c, at, finish, begin, end, 0, c.groups); });
    return;
  }
  parallel_for(units, kWorthAThread / (lines * line / units + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = begin * kUnit, last = end == units ? c.groups : end * kUnit;
    run(c, at, finish, 0, lines, first, last - first);
  });
}

}  // namespace tern::channels_last
