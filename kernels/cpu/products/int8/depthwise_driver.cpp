#include "kernels/cpu/products/int8/depthwise_driver.h"

#include <algorithm>
#include <vector>

#include "kernels/cpu/channels_last/strip.h"
#include "kernels/cpu/products/int8/dot_microkernel.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::int8 {
namespace {

using cpu::WindowAxis;

constexpr std::int64_t kBandFloats = 64 << 10;  // floats of the lines that are converted at a time
constexpr std::int64_t kExact = std::int64_t{1} << 24;
constexpr std::int64_t kWorthAThread = 1 << 15;  // products
constexpr std::size_t kBandSlot = 5, kSumsSlot = 4;

void widen(const std::byte* from, bool with_sign, std::int64_t count, float* to) {
  static const auto run = best_level(widen_bytes_levels);
  run(from, with_sign, count, to);
}

/// Elements of an axis that `windows` windows reach over.
std::int64_t reach(const WindowAxis& a, std::int64_t windows) {
  return (windows - 1) * a.stride + (a.kernel - 1) * a.dilation + 1;
}

/// Lines of an image as floats, with the fill around them.
class FloatLines {
 public:
  FloatLines(const ConvolutionShape& s, std::int64_t most)
      : s_(s),
        channels_(s.sizes.groups),
        line_(reach(s.sizes.window[2], s.sizes.window[2].out) * channels_),
        data_(thread_buffer<float>(static_cast<std::size_t>(line_ * reach(s.sizes.window[1], most)), kBandSlot)) {}

  /// Lines that the windows of `count` lines of results from `line` on reach.
  void load(const std::byte* image, std::int64_t line, std::int64_t count) {
    const WindowAxis &h = s_.sizes.window[1], &w = s_.sizes.window[2];
    const auto fill = s_.signs.x ? static_cast<float>(static_cast<std::int8_t>(s_.fill)) : static_cast<float>(s_.fill);
    const std::int64_t width = line_ / channels_, left = std::clamp<std::int64_t>(w.padding_before, 0, width),
                       first = std::max<std::int64_t>(-w.padding_before, 0),
                       inside = std::clamp<std::int64_t>(width - left, 0, std::max<std::int64_t>(w.in - first, 0));
    for (std::int64_t i = 0; i < reach(h, count); ++i) {
      float* to = data_ + i * line_;
      const std::int64_t at = h.position(line, 0) + i;
      if (at < 0 || at >= h.in) {
        std::fill_n(to, line_, fill);
        continue;
      }
      to = std::fill_n(to, left * channels_, fill);
      widen(image + (at * w.in + first) * channels_, s_.signs.x, inside * channels_, to);
      std::fill(to + inside * channels_, data_ + (i + 1) * line_, fill);
    }
  }
  const float* line(std::int64_t i) const { return data_ + i * s_.sizes.window[1].stride * line_; }
  /// Windows of these lines: none reaches beside them.
  cpu::Window window() const {
    cpu::Window w = s_.sizes.window;
    w[2].in = line_ / channels_;
    w[1].padding_before = w[2].padding_before = 0;
    return w;
  }
  /// `count` lines of results from the loaded ones' number `i` on.
  channels_last::Strip strip(std::int64_t i, std::int64_t count, float* y) const {
    const WindowAxis &h = s_.sizes.window[1], &w = s_.sizes.window[2];
    channels_last::Strip s;
    s.x = line(i);
    s.position = s.y_position = s.channels = channels_;
    s.line = line_;
    s.width = line_ / channels_;
    s.rows_end = reach(h, count);
    s.out = w.out;
    s.lines = count;
    s.y = y;
    s.y_line = w.out * channels_;
    return s;
  }
  std::vector<std::ptrdiff_t> taps() const {
    const WindowAxis &h = s_.sizes.window[1], &w = s_.sizes.window[2];
    std::vector<std::ptrdiff_t> taps;
    for (std::int64_t i = 0; i < h.kernel; ++i) {
      for (std::int64_t j = 0; j < w.kernel; ++j) taps.push_back(i * h.dilation * line_ + j * w.dilation * channels_);
    }
    return taps;
  }

 private:
  const ConvolutionShape& s_;
  std::int64_t channels_, line_;
  float* data_;
};

void store_integers(const float* sums, const std::int32_t* bias, std::int64_t positions, std::int64_t channels,
                    std::int32_t* y) {
  for (std::int64_t p = 0; p < positions; ++p, sums += channels, y += channels) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const auto start = bias == nullptr ? 0U : static_cast<std::uint32_t>(bias[c]);
      y[c] = static_cast<std::int32_t>(start + static_cast<std::uint32_t>(static_cast<std::int32_t>(sums[c])));
    }
  }
}

}  // namespace

bool suits_depthwise(const ConvolutionShape& shape) {
  const tiles::TileConvolutionShape& s = shape.sizes;
  const std::int64_t x = shape.signs.x ? 128 : 255, weight = shape.signs.weight ? 128 : 255,
                     taps = s.window[1].kernel * s.window[2].kernel;
  return s.in == 1 && s.out == 1 && s.groups >= channels_last::loops().lanes && taps <= kExact / (x * weight);
}

void convolve_depthwise(const ConvolutionShape& shape, const DepthwiseOperands& o) {
  const tiles::TileConvolutionShape& s = shape.sizes;
  const WindowAxis &h = s.window[1], &w = s.window[2];
  const std::int64_t channels = s.groups, taps = h.kernel * w.kernel;
  std::vector<float> exported(static_cast<std::size_t>(channels * taps)), weight(exported.size());
  widen(o.weight, shape.signs.weight, channels * taps, exported.data());
  std::vector<std::ptrdiff_t> weight_taps;
  for (std::int64_t t = 0; t < taps; ++t) {
    weight_taps.push_back(t * channels);
    for (std::int64_t c = 0; c < channels; ++c)
      weight[static_cast<std::size_t>(t * channels + c)] = exported[static_cast<std::size_t>(c * taps + t)];
  }
  const std::vector<float> zeros(static_cast<std::size_t>(channels));
  const std::int64_t line = std::max<std::int64_t>(reach(w, w.out) * channels, 1);
  parallel_for(
      s.batch * h.out, kWorthAThread / (w.out * taps * channels) + 1, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t most = std::clamp<std::int64_t>(kBandFloats / line / h.stride, 1, end - begin);
        FloatLines lines(shape, most);
        const std::vector<std::ptrdiff_t> x_taps = lines.taps();
        const auto strip = channels_last::strip_loop(lines.window(), channels_last::loops().strip);
        const std::int64_t together = strip != nullptr ? channels_last::loops().strip_lines : 1,
                           line_sums = w.out * channels;
        float* const kept = o.stores_sums || o.bytes
                                ? thread_buffer<float>(static_cast<std::size_t>(together * line_sums), kSumsSlot)
                                : nullptr;
        while (begin < end) {
          const std::int64_t image = begin / h.out, top = begin % h.out,
                             count = std::min({most, end - begin, h.out - top});
          lines.load(o.x + image * h.in * w.in * channels, top, count);
          for (std::int64_t i = 0; i < count; i += together) {
            const std::int64_t made = std::min(together, count - i), first = (begin + i) * line_sums;
            float* const y = kept != nullptr ? kept : reinterpret_cast<float*>(o.y) + first;
            if (strip != nullptr) {
              strip(lines.strip(i, made, y), weight.data(), channels, zeros.data());
            } else {
              channels_last::WindowRow windows;
              windows.x = lines.line(i);
              windows.step = w.stride * channels;
              windows.taps = x_taps.data();
              windows.tap_count = taps;
              windows.channels = windows.y_step = channels;
              windows.count = w.out;
              windows.y = y;
              channels_last::loops().depthwise(windows, weight.data(), weight_taps.data(), zeros.data());
            }
            if (o.bytes) {
              o.finish.store(y, channels, made * w.out, channels, first, channels);
            } else if (kept != nullptr) {
              store_integers(kept, o.bias, made * w.out, channels, reinterpret_cast<std::int32_t*>(o.y) + first);
            } else if (o.finish.epilogue != nullptr) {
              o.finish.apply(y, channels, made * w.out, channels, first, channels);
            }
          }
          begin += count;
        }
      });
}

}  // namespace tern::int8
