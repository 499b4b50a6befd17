#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/cpu/channels_last/band.h"
#include "kernels/cpu/channels_last/convolve.h"
#include "kernels/cpu/channels_last/loops.h"
#include "kernels/cpu/channels_last/share.h"
#include "kernels/cpu/channels_last/strip.h"
#include "kernels/cpu/products/tiles/rows.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/upcoming.h"
#include "threads/parallel.h"

namespace tern::channels_last {

using cpu::WindowAxis;

StripLoop strip_loop(const cpu::Window& window, const StripLoop (&of)[2][2]) {
  const WindowAxis &h = window[1], &w = window[2];
  const auto beside = [](const WindowAxis& a) {
    return std::max(a.padding_before, a.position(a.out - 1, a.kernel) - a.in);
  };
  if (h.kernel != w.kernel || h.stride != w.stride || h.dilation != 1 || w.dilation != 1) return nullptr;
  if ((w.kernel != 3 && w.kernel != 5) || w.stride > 2 || w.out < Strip::kWindows || beside(w) >= w.kernel)
    return nullptr;
  return of[w.kernel == 5 ? 1 : 0][w.stride - 1];
}

StripLoop wide_strip_loop(const cpu::Window& window, const StripLoop (&of)[2]) {
  const WindowAxis &h = window[1], &w = window[2];
  const bool same_stride = h.stride == w.stride || h.out == 1;
  if (!same_stride || w.stride > 2 || w.dilation != 1 || (h.dilation != 1 && h.kernel != 1)) return nullptr;
  if (w.kernel < 2 || w.out < Strip::kWindows || w.kernel > w.in) return nullptr;
  return of[w.stride - 1];
}

namespace {

std::int64_t channels_of(const ChannelsLastShape& c) {
  return c.groups * c.out;
}

constexpr std::int64_t kDepthwiseThreadProducts = 1 << 15;  // products
// Small images: computes several lines at once, since windows at the left and right edges have the same elements
// inside.
constexpr std::int64_t kNarrow = 32, kLinesTogether = 6;
constexpr std::int64_t kDepthwiseBand = 64 << 10;  // floats of copied input lines
constexpr std::size_t kDepthwiseBandSlot = 5, kDepthwiseWeightSlot = 6, kResultSlot = 4;

/// Weights and biases: channels adjacent, window elements `step` apart; the input channels of a group follow each
/// other.
struct DepthwiseWeights {
  const float *weight, *bias;
  std::int64_t step;
};
template <class Operands>
DepthwiseWeights weights_of(const ChannelsLastShape& c, const Operands& operands, std::int64_t first,
                            std::int64_t channels) {
  const std::int64_t taps = operands.panels != nullptr ? 0 : c.in * cpu::plane(c.window, &WindowAxis::kernel);
  auto* to = thread_buffer<float>(static_cast<std::size_t>(channels * (taps + 1)), kDepthwiseWeightSlot);
  for (std::int64_t i = 0; i < channels; ++i) {
    for (std::int64_t t = 0; t < taps; ++t) to[t * channels + i] = operands.weight[(first + i) * taps + t];
    to[taps * channels + i] = operands.bias == nullptr ? 0.0F : operands.bias[first + i];
  }
  if (operands.panels != nullptr) return {operands.panels + first, to, channels_of(c)};
  return {to, to + taps * channels, channels};
}

/// Kernel elements [begin, end) along an axis that lie inside the image at window `i`.
struct Inside {
  std::int64_t begin, end;
  friend bool operator==(const Inside&, const Inside&) = default;
};
Inside inside(const WindowAxis& a, std::int64_t i) {
  const std::int64_t first = a.position(i, 0);
  const std::int64_t begin = first >= 0 ? 0 : (-first + a.dilation - 1) / a.dilation;
  return {begin, std::clamp<std::int64_t>((a.in - 1 - first) / a.dilation + 1, begin, a.kernel)};
}

/// Neighbouring windows of a line with the same elements inside.
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

/// Offsets of the inside elements for the windows of a line, segment by segment: floats from the line's first inside
/// element in the first column, and positions of the weights.
class Taps {
 public:
  /// `step`: distance between the weights of two window elements.
  Taps(const ChannelsLastShape& c, std::int64_t step)
      : h_(c.window[1]),
        w_(c.window[2]),
        total_channels_(channels_of(c)),
        step_(step),
        segments_(segments_of(c.window[2])) {}

  /// Sets the offsets for lines with these elements inside. Consecutive lines mostly agree.
  void set(const Inside& rows) {
    if (rows == rows_) return;
    rows_ = rows;
    x_.clear();
    weight_.clear();
    first_.clear();
    for (const Segment& s : segments_) {
      first_.push_back(x_.size());
      for (std::int64_t r = rows.begin; r < rows.end; ++r) {
        for (std::int64_t k = s.elements.begin; k < s.elements.end; ++k) {
          x_.push_back(((r - rows.begin) * h_.dilation * w_.in + w_.position(s.first, k)) * total_channels_);
          weight_.push_back((r * w_.kernel + k) * step_);
        }
      }
    }
    first_.push_back(x_.size());
  }

  /// Calls f(segment, taps, weight taps, tap count).
  template <class F>
  void for_each_segment(F&& f) const {
    for (std::size_t i = 0; i < segments_.size(); ++i)
      f(segments_[i], x_.data() + first_[i], weight_.data() + first_[i],
        static_cast<std::ptrdiff_t>(first_[i + 1] - first_[i]));
  }

 private:
  const WindowAxis &h_, &w_;
  std::int64_t total_channels_, step_;
  std::vector<Segment> segments_;
  Inside rows_{-1, -1};
  std::vector<std::ptrdiff_t> x_, weight_;
  std::vector<std::size_t> first_;  ///< first tap of each segment
};

/// Bounds applied to results in registers; `is_unbounded`: the epilogue needs no other step.
struct Bounds {
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
  bool is_unbounded = true;
};
Bounds bounds_of(const pointwise::BoundEpilogue& finish) {
  const pointwise::SimpleEpilogue* simple = finish.simple();
  if (simple != nullptr && simple->operand < 0) return {simple->low, simple->high};
  return {.is_unbounded = finish.epilogue == nullptr};
}

/// Channels of an image read and written in place by a thread.
struct PlainLines {
  PlainLines(const ChannelsLastShape&, const ChannelsLastOperands& operands, std::int64_t first_channel, std::int64_t)
      : operands(operands), first(first_channel) {}
  const ChannelsLastOperands& operands;
  std::int64_t first;

  /// Sets the strip's start to line `from` of all images and line `to` of all results.
  void set_start(Strip& s, std::int64_t from, std::int64_t to) const {
    s.x = operands.x + from * s.line + first;
    s.y = operands.y + to * s.y_line + first;
  }
  void finished(const Strip&, std::int64_t) const {}
};

/// Channels in bfloat16: rounds a float32 image first; results stay float32 until the epilogue.
class NarrowLines {
 public:
  NarrowLines(const ChannelsLastShape& c, const NarrowOperands& at, std::int64_t first, std::int64_t channels)
      : operands_(at), total_channels_(channels_of(c)), first_(first), channels_(channels) {
    const WindowAxis &h = c.window[1], &w = c.window[2];
    const std::int64_t lines = loops().strip_lines, reach = (lines - 1) * h.stride + h.kernel;
    if (!at.narrow_x)
      x_ = thread_buffer<std::byte>(static_cast<std::size_t>(reach * w.in * channels * 2), kDepthwiseBandSlot);
    if (at.narrow_y) y_ = thread_buffer<float>(static_cast<std::size_t>(lines * w.out * channels), kResultSlot);
  }

  void set_start(Strip& s, std::int64_t from, std::int64_t to) {
    if (operands_.narrow_x) {
      s.x = operands_.x + (from * s.line + first_) * 2;
    } else {
      s.position = channels_;
      const std::int64_t line = s.width * total_channels_;
      s.line = s.width * channels_;
      for (std::int64_t r = s.rows_begin; r < s.rows_end; ++r)
        round({operands_.x, false}, ((from + r) * line + first_), s.width, x_ + (r - s.rows_begin) * s.line * 2);
      s.x = x_ - s.rows_begin * s.line * 2;
    }
    if (operands_.narrow_y) {
      s.y = y_;
      s.y_position = channels_;
      s.y_line = s.out * channels_;
    } else {
      s.y = reinterpret_cast<float*>(operands_.y) + to * s.y_line + first_;
    }
  }
  void finished(const Strip& s, std::int64_t to) const {
    if (!operands_.narrow_y) return;
    const std::int64_t positions = s.lines * s.out;
    std::byte* y = operands_.y + (to * s.out * total_channels_ + first_) * 2;
    const tiles::Elements sums{reinterpret_cast<const std::byte*>(s.y)};
    if (channels_ == total_channels_) return tiles::round_line(sums, positions * total_channels_, y);
    for (std::int64_t i = 0; i < positions; ++i)
      tiles::round_line(sums.offset_by(i * channels_), channels_, y + i * total_channels_ * 2);
  }

 private:
  /// Positions from element `begin` on, their channels side by side.
  void round(tiles::Elements x, std::int64_t begin, std::int64_t positions, std::byte* to) const {
    if (channels_ == total_channels_) return tiles::round_line(x.offset_by(begin), positions * total_channels_, to);
    for (std::int64_t i = 0; i < positions; ++i)
      tiles::round_line(x.offset_by(begin + i * total_channels_), channels_, to + i * channels_ * 2);
  }

  const NarrowOperands& operands_;
  std::int64_t total_channels_, first_, channels_;
  std::byte* x_ = nullptr;
  float* y_ = nullptr;
};

/// Does the work of `run` with a strip loop.
template <class Lines, class Operands>
void run_strips(const ChannelsLastShape& c, const Operands& at, const pointwise::BoundEpilogue& finish, StripLoop loop,
                std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t channels) {
  const WindowAxis &h = c.window[1], &w = c.window[2];
  const std::int64_t all = channels_of(c);
  const DepthwiseWeights weights = weights_of(c, at, first, channels);
  const Bounds bounds = bounds_of(finish);
  Lines lines(c, at, first, channels);
  Strip s;
  s.position = s.y_position = all;
  s.line = w.in * all;
  s.width = w.in;
  s.padding_before = w.padding_before;
  s.out = w.out;
  s.channels = channels;
  s.group = c.out;
  s.kernel_h = h.kernel;
  s.kernel_w = w.kernel;
  s.y_line = w.out * all;
  s.low = bounds.low;
  s.high = bounds.high;
  auto upcoming =
      cpu::UpcomingLines::slice_of(at.upcoming, {begin, end, c.batch * h.out}, {first, first + channels, all});
  for (std::int64_t i = begin; i < end; i += s.lines) {
    const std::int64_t top = h.position(i % h.out, 0);
    s.lines = std::min<std::int64_t>({loops().strip_lines, end - i, h.out - i % h.out});
    const std::int64_t reach = (s.lines - 1) * h.stride + h.kernel;
    s.rows_begin = std::clamp<std::int64_t>(-top, 0, reach);
    s.rows_end = std::clamp<std::int64_t>(h.in - top, s.rows_begin, reach);
    lines.set_start(s, i / h.out * h.in + top, i);
    s.ahead_lines = (upcoming.remaining_lines() * s.lines + end - i - 1) / (end - i);
    s.ahead = upcoming.take_lines(&s.ahead_lines);
    loop(s, weights.weight, weights.step, weights.bias);
    if (!bounds.is_unbounded) finish.apply(s.y, s.y_position, s.lines * w.out, channels, i * w.out * all + first, all);
    lines.finished(s, i);
  }
}

/// Computes channels [first, first + channels) of lines [begin, end) of all images without a copy: windows at the edges
/// have fewer elements.
void run(const ChannelsLastShape& c, const ChannelsLastOperands& at, const pointwise::BoundEpilogue& finish,
         std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t channels) {
  const WindowAxis &h = c.window[1], &w = c.window[2];
  const std::int64_t all = channels_of(c), line = w.in * all;
  if (const StripLoop loop = strip_loop(c.window, c.depthwise() ? loops().strip : loops().group_strip))
    return run_strips<PlainLines>(c, at, finish, loop, begin, end, first, channels);
  if (const StripLoop loop = c.depthwise() ? wide_strip_loop(c.window, loops().wide_strip) : nullptr)
    return run_strips<PlainLines>(c, at, finish, loop, begin, end, first, channels);
  const DepthwiseWeights weights = weights_of(c, at, first, channels);
  const Bounds bounds = bounds_of(finish);
  WindowRow windows;
  windows.channels = channels;
  windows.low = bounds.low;
  windows.high = bounds.high;
  Taps taps(c, weights.step);
  for (std::int64_t i = begin, count = 1; i < end; i += count) {
    const Inside rows = inside(h, i % h.out);
    const std::int64_t most = w.out <= kNarrow ? std::min({kLinesTogether, end - i, h.out - i % h.out}) : 1;
    for (count = 1; count < most && inside(h, i % h.out + count) == rows;) ++count;
    taps.set(rows);
    // A line may have no elements inside.
    const std::int64_t top = rows.begin < rows.end ? h.position(i % h.out, rows.begin) : 0;
    const float* x = at.x + (i / h.out * h.in + top) * line + first;
    float* y = at.y + i * w.out * all + first;
    taps.for_each_segment([&](const Segment& s, const std::ptrdiff_t* x_taps, const std::ptrdiff_t* weight_taps,
                              std::ptrdiff_t tap_count) {
      windows.taps = x_taps;
      windows.tap_count = tap_count;
      const bool down = s.count < count;
      const std::int64_t along = w.stride * all, lines = h.stride * line;
      windows.step = down ? lines : along;
      windows.y_step = down ? w.out * all : all;
      windows.count = down ? count : s.count;
      for (std::int64_t k = 0; k < (down ? s.count : count); ++k) {
        windows.x = x + k * (down ? along : lines);
        windows.y = y + (s.first + (down ? k : k * w.out)) * all;
        loops().depthwise(windows, weights.weight, weight_taps, weights.bias);
      }
    });
    if (!bounds.is_unbounded) finish.apply(y, all, count * w.out, channels, i * w.out * all + first, all);
  }
}

/// Computes lines [begin, end) of all images: multiplies every element of every window in order, adds the bias last.
void run_in_order(const ChannelsLastShape& c, const ChannelsLastOperands& at, const pointwise::BoundEpilogue& finish,
                  std::int64_t begin, std::int64_t end) {
  const WindowAxis &h = c.window[1], &w = c.window[2];
  const std::int64_t all = channels_of(c), kernel = h.kernel * w.kernel;
  const Image image{c.window, all, all};
  const bool inside = is_inside(c.window);
  const std::int64_t most = std::clamp<std::int64_t>(kDepthwiseBand / (h.stride * w.in * all), 1, end - begin);
  Band band(
      image, inside, 0,
      inside ? nullptr : thread_buffer<float>(static_cast<std::size_t>(Band::floats(image, most)), kDepthwiseBandSlot));
  const DepthwiseWeights weights = weights_of(c, at, 0, all);
  const std::vector<float> zeros(static_cast<std::size_t>(all));
  std::vector<std::ptrdiff_t> weight_taps(static_cast<std::size_t>(kernel));
  for (std::size_t t = 0; t < weight_taps.size(); ++t) weight_taps[t] = static_cast<std::ptrdiff_t>(t) * weights.step;
  while (begin < end) {
    const std::int64_t n = begin / h.out, top = begin % h.out, count = std::min({most, end - begin, h.out - top});
    band.load(at.x + n * all * h.in * w.in, {.begin = top, .end = top + count});
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t first = (begin + i) * w.out * all;
      float* y = at.y + first;
      WindowRow windows;
      windows.x = band.line(top + i);
      windows.step = band.step();
      windows.taps = band.taps().data();
      windows.tap_count = kernel;
      windows.channels = windows.y_step = all;
      windows.count = w.out;
      windows.y = y;
      loops().depthwise(windows, weights.weight, weight_taps.data(), zeros.data());
      for (std::int64_t p = 0; at.bias != nullptr && p < w.out; ++p) {
        for (std::int64_t channel = 0; channel < all; ++channel) y[p * all + channel] += weights.bias[channel];
      }
      if (finish.epilogue != nullptr) finish.apply(y, all, w.out, all, first, all);
    }
    begin += count;
  }
}

/// Calls f(first line, last, first channel, channels) on several threads; lines or channels are divided.
template <class F>
void parallel_ranges(const ChannelsLastShape& c, F&& f) {
  const std::int64_t lines = c.batch * c.window[1].out;
  const std::int64_t line = c.window[2].out * c.in * cpu::plane(c.window, &WindowAxis::kernel) * channels_of(c);
  const ThreadAxis share = c.blocking.share;
  if (share == ThreadAxis::automatic ? share_lines(lines, channels_of(c))
                                     : share == ThreadAxis::lines || !enough_channels(channels_of(c))) {
    parallel_for(lines, kDepthwiseThreadProducts / line + 1,
                 [&](std::int64_t begin, std::int64_t end) { f(begin, end, 0, channels_of(c)); });
    return;
  }
  const std::int64_t unit = lines * line / (channels_of(c) / kUnit);
  parallel_channels(channels_of(c), kDepthwiseThreadProducts / (unit + 1) + 1,
                    [&](std::int64_t first, std::int64_t count) { f(0, lines, first, count); });
}

}  // namespace

void convolve_depthwise(const ChannelsLastShape& c, const ChannelsLastOperands& at,
                        const pointwise::BoundEpilogue& finish) {
  if (c.is_ordered) {
    const std::int64_t products = c.window[2].out * cpu::plane(c.window, &WindowAxis::kernel) * channels_of(c);
    return parallel_for(c.batch * c.window[1].out, kDepthwiseThreadProducts / products + 1,
                        [&](std::int64_t begin, std::int64_t end) { run_in_order(c, at, finish, begin, end); });
  }
  parallel_ranges(c, [&](std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t channels) {
    run(c, at, finish, begin, end, first, channels);
  });
}

bool has_small_groups(const ChannelsLastShape& c) {
  constexpr std::int64_t kRegister = 16, kMost = 8;
  return c.in == c.out && c.out > 1 && c.out <= kMost && kMost % c.out == 0 && channels_of(c) >= kRegister &&
         !c.is_ordered && c.window[0].in == 1 && c.window[0].out == 1 && c.window[0].kernel == 1 &&
         strip_loop(c.window, loops().group_strip) != nullptr;
}

bool has_narrow_depthwise(const ChannelsLastShape& c) {
  return c.depthwise() && !c.is_ordered && channels_of(c) >= loops().lanes &&
         strip_loop(c.window, loops().narrow_strip) != nullptr;
}

void convolve_narrow_depthwise(const ChannelsLastShape& c, const NarrowOperands& at,
                               const pointwise::BoundEpilogue& finish) {
  parallel_ranges(c, [&](std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t channels) {
    run_strips<NarrowLines>(c, at, finish, strip_loop(c.window, loops().narrow_strip), begin, end, first, channels);
  });
}

}  // namespace tern::channels_last
