#include "kernels/cpu/channels_last/pool.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/cpu/channels_last/band.h"
#include "kernels/cpu/channels_last/loops.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::channels_last {
namespace {

constexpr std::int64_t kPoolBand = 32 << 10;  // floats of input
constexpr std::int64_t kPoolFewestChannels = 16;
constexpr std::size_t kPoolBandSlot = 5, kPoolWeightSlot = 6;

/// Calls f(windows of a result line, index of the line in its image) for all lines, with `fill` around the images.
template <class F>
void for_each_line(const ChannelsLastPool& p, const float* x, float* y, float fill, F&& f) {
  const cpu::WindowAxis &h = p.window[1], &w = p.window[2];
  const Image image{p.window, p.channels, p.channels};
  const std::int64_t taps = h.kernel * w.kernel, line = h.stride * w.in * p.channels;
  const bool inside = is_inside(p.window);
  parallel_for(p.batch * h.out, grain_for(w.out * taps * p.channels / 8), [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t most = std::min(std::max<std::int64_t>(1, kPoolBand / line), end - begin);
    Band band(
        image, inside, fill,
        inside ? nullptr : thread_buffer<float>(static_cast<std::size_t>(Band::floats(image, most)), kPoolBandSlot));
    while (begin < end) {
      const std::int64_t n = begin / h.out, top = begin % h.out, count = std::min({most, end - begin, h.out - top});
      band.load(x + n * p.channels * h.in * w.in, {.begin = top, .end = top + count});
      for (std::int64_t i = 0; i < count; ++i) {
        f(WindowRow{band.line(top + i), band.step(), band.taps().data(), taps, p.channels, w.out,
                    y + (begin + i) * w.out * p.channels, p.channels},
          top + i);
      }
      begin += count;
    }
  });
}

}  // namespace

bool suits(const ChannelsLastPool& p) {
  return p.channels >= kPoolFewestChannels && p.window[0].in == 1 && p.window[0].out == 1 && p.window[0].kernel == 1;
}

void max_pool(const ChannelsLastPool& p, const float* x, float* y) {
  for_each_line(p, x, y, -std::numeric_limits<float>::infinity(),
                [](const WindowRow& w, std::int64_t) { loops().max(w); });
}

void average_pool(const ChannelsLastPool& p, const float* x, std::span<const float> line_divisors,
                  std::span<const float> column_divisors, float* y) {
  for_each_line(p, x, y, 0, [&](const WindowRow& w, std::int64_t line) {
    auto* ones = thread_buffer<float>(static_cast<std::size_t>(2 * w.channels), kPoolWeightSlot);
    std::fill_n(ones, w.channels, 1.0F);
    std::fill_n(ones + w.channels, w.channels, 0.0F);
    const std::vector<std::ptrdiff_t> first(static_cast<std::size_t>(w.tap_count));  // every tap has the same weights
    loops().depthwise(w, ones, first.data(), ones + w.channels);
    for (std::ptrdiff_t i = 0; i < w.count; ++i) {
      const float divisor =
          line_divisors[static_cast<std::size_t>(line)] * column_divisors[static_cast<std::size_t>(i)];
      for (std::ptrdiff_t c = 0; c < w.channels; ++c) w.y[i * w.y_step + c] /= divisor;
    }
  });
}

}  // namespace tern::channels_last
