#include <algorithm>

#include "kernels/cpu/channels_last/band.h"
#include "kernels/cpu/channels_last/convolve.h"
#include "kernels/cpu/channels_last/loops.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/scratch.h"

namespace tern::channels_last {
namespace {

using cpu::WindowAxis;

constexpr std::int64_t kBand = 32 << 10;         // floats of input
constexpr std::int64_t kFewLines = 16;           // fewer than that for each thread: they share channels
constexpr std::int64_t kUnit = 16;               // channels: the most that a register holds
constexpr std::int64_t kWorthAThread = 1 << 15;  // products
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

/// Channels [first, first + channels) of lines [begin, end) of all images.
void run(const Convolution& c, const Operands& at, const pointwise::Finish& finish, std::int64_t begin,
         std::int64_t end, std::int64_t first, std::int64_t channels) {
  const WindowAxis &h = c.window[1], &w = c.window[2];
  const std::int64_t all = c.groups, taps = cpu::plane(c.window, &WindowAxis::kernel);
  const Image image{c.window, all, channels};
  const Weights weights = gather(at, first, channels, taps);
  const std::int64_t line = h.stride * w.in * channels;
  const std::int64_t most = std::min(std::max<std::int64_t>(1, kBand / line), end - begin);
  const bool inside = is_inside(c.window);
  Band band(image, inside, 0,
            inside ? nullptr : thread_buffer<float>(static_cast<std::size_t>(Band::floats(image, most)), kBandSlot));
  while (begin < end) {
    const std::int64_t n = begin / h.out, top = begin % h.out, count = std::min({most, end - begin, h.out - top});
    band.load(at.x + n * all * h.in * w.in + first, top, top + count);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t result = (begin + i) * w.out * all + first;
      loops().depthwise(
          {band.line(top + i), band.step(), band.taps().data(), taps, channels, w.out, at.y + result, all},
          weights.weight, channels, weights.bias);
      if (finish.epilogue != nullptr) finish.apply(at.y + result, all, w.out, channels, result, all);
    }
    begin += count;
  }
}

}  // namespace

void convolve_depthwise(const Convolution& c, const Operands& at, const pointwise::Finish& finish) {
  const std::int64_t lines = c.batch * c.window[1].out;
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
