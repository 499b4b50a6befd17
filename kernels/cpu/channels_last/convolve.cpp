#include "kernels/cpu/channels_last/convolve.h"

#include <algorithm>
#include <array>

#include "kernels/cpu/channels_last/ahead.h"
#include "kernels/cpu/channels_last/band.h"
#include "kernels/cpu/channels_last/panels.h"
#include "kernels/cpu/channels_last/registers.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/upcoming.h"
#include "threads/parallel.h"

namespace tern::channels_last {
namespace {

using cpu::WindowAxis;
using strided_product::kPackedSlot;
using strided_product::kWorthAThread;
using strided_product::StridedMicroKernels;

constexpr std::int64_t kPacked = 2 << 10;        // rows of a packed panel; a panel stays in the second cache
constexpr std::int64_t kFinished = 48;           // fewest results of a channel per epilogue call
constexpr std::int64_t kConvolveBand = 1 << 19;  // most floats of input lines per copied band
constexpr std::size_t kConvolveBandSlot = 5;

/// Adjacent results of a line whose windows have the same elements: `segments` times `taps` elements, from element
/// `first_tap` on, a segment `segment_taps` elements after the last; `a` points to the first of these. A segment is a
/// line or a slice of a window, or the whole window.
struct PixelRun {
  const float* a;
  std::int64_t result, count;  ///< floats before the first result; results
  std::int64_t first_tap, taps, segments, segment_taps;
};

/// Merges the axes of a pointwise convolution into a single line.
ChannelsLastShape merged(ChannelsLastShape c) {
  if (!is_every_position(c.window) || c.spread) return c;
  const std::int64_t positions = c.batch * cpu::plane(c.window, &WindowAxis::out);
  c.batch = 1;
  c.window = {};
  c.window[1].in = c.window[1].out = positions;
  return c;
}

std::int64_t lines_of(const ChannelsLastShape& c) {
  return c.batch * c.window[0].out * c.window[1].out;
}

std::int64_t halves_of_group(const ChannelsLastShape& c, const StridedMicroKernels& micro) {
  return (2 * c.out + micro.columns - 1) / micro.columns;
}

std::int64_t image_floats(const ChannelsLastShape& c) {
  return c.batch * c.groups *
         (c.in * cpu::plane(c.window, &WindowAxis::in) + c.out * cpu::plane(c.window, &WindowAxis::out));
}
std::int64_t weight_floats(const ChannelsLastShape& c) {
  return c.groups * c.out * c.in * cpu::plane(c.window, &WindowAxis::kernel);
}

/// Elements [begin, end) of a window's axis.
struct AxisTaps {
  std::int64_t begin, end;
  std::int64_t count() const { return end - begin; }
};

/// Returns the elements inside the image; one, if all are padding.
AxisTaps taps_inside(const WindowAxis& a, std::int64_t window) {
  AxisTaps t{0, 0};
  cpu::elements_inside(a, window, &t.begin, &t.end);
  return t.count() > 0 ? t : AxisTaps{0, 1};
}

/// True if every window has an element inside.
bool each_touches(const WindowAxis& a) {
  for (std::int64_t i = 0; i < a.out; ++i) {
    AxisTaps t{0, 0};
    cpu::elements_inside(a, i, &t.begin, &t.end);
    if (t.count() <= 0) return false;
  }
  return true;
}

/// True if the image is read in place: no window of a line reads outside, and slices outside are left out.
bool reads_in_place(const ChannelsLastShape& c) {
  if (!is_inside({WindowAxis{}, c.window[1], c.window[2]})) return false;
  return is_inside({WindowAxis{}, WindowAxis{}, c.window[0]}) || (!c.is_ordered && each_touches(c.window[0]));
}

/// Lines of a slice, and slices, in a copied band.
struct BandSize {
  std::int64_t lines, slices;
};
BandSize band_size(const Image& image) {
  const WindowAxis &d = image.window[0], &h = image.window[1];
  const std::int64_t lines = std::clamp<std::int64_t>(kConvolveBand / Band::floats(image, 1), 1, h.out);
  if (lines < h.out) return {lines, 1};
  std::int64_t slices = d.out;
  while (slices > 1 && Band::floats(image, lines, slices) > kConvolveBand) slices = (slices + 1) / 2;
  return {lines, slices};
}

/// Results [begin, end) of a line, whose windows have the elements [first_tap, last_tap) of an axis inside the image.
struct LineSection {
  std::int64_t begin, end, first_tap, last_tap;
};

/// Divides a line of results where the elements inside the image change.
std::vector<LineSection> sections_of(const WindowAxis& w) {
  std::vector<LineSection> sections;
  for (std::int64_t i = 0; i < w.out; ++i) {
    LineSection next{i, i + 1, 0, 0};
    cpu::elements_inside(w, i, &next.first_tap, &next.last_tap);
    if (!sections.empty() && sections.back().first_tap == next.first_tap && sections.back().last_tap == next.last_tap) {
      sections.back().end = next.end;
    } else {
      sections.push_back(next);
    }
  }
  return sections;
}

/// Returns the cost of windows in a line, in products of a row by a panel. Fewer than two rows wait for their sums.
std::int64_t cost_of_windows(std::int64_t count, std::int64_t taps, std::int64_t rows) {
  const std::int64_t tiles = (count + rows - 1) / rows;
  return std::max(count, 2 * tiles) * taps + tiles;
}

/// Returns the sections of lines if products of the elements inside the image alone cost less than those of the padded
/// image, as with dilated windows; none otherwise.
std::vector<LineSection> sections_inside(const ChannelsLastShape& c, std::int64_t rows) {
  const WindowAxis &h = c.window[1], &w = c.window[2];
  if (c.is_ordered || c.multiplies_lines() || is_volume(c) || is_inside(c.window) || !each_touches(h)) return {};
  std::int64_t inside = 0;
  std::vector<LineSection> sections = sections_of(w);
  for (const LineSection& s : sections) {
    if (s.last_tap <= s.first_tap) return {};
    inside += cost_of_windows(s.end - s.begin, s.last_tap - s.first_tap, rows);
  }
  return inside < cost_of_windows(w.out, w.kernel, rows) ? sections : std::vector<LineSection>{};
}

class ConvolutionWorker {
 public:
  ConvolutionWorker(const ChannelsLastShape& c, const ChannelsLastOperands& at, const pointwise::BoundEpilogue& finish)
      : c_(c),
        operands_(at),
        finish_(finish),
        micro_(strided_product::micro_kernels()),
        plain_(is_every_position(c.window) && !c.spread),
        together_(c.multiplies_lines() ? c.window[2].kernel : 1),
        in_(c.in * together_),
        sections_(sections_inside(c, micro_.rows)) {}

  /// Computes channels of half panels [first, last) in lines [begin, end) of all images.
  void run(std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t last) {
    const WindowAxis &d = c_.window[0], &h = c_.window[1];
    const Image image{c_.window, c_.groups * c_.in, c_.groups * c_.in};
    const bool inside = reads_in_place(c_) || !sections_.empty();
    BandSize most = inside ? BandSize{h.out, d.out} : band_size(image);
    most.lines = std::min(most.lines, end - begin);
    const std::int64_t floats = inside ? 0 : Band::floats(image, most.lines, most.slices);
    float* buffer = inside ? nullptr : thread_buffer<float>(static_cast<std::size_t>(floats), kConvolveBandSlot);
    Band band(image, inside, 0, buffer, most.lines);
    find_upcoming(begin, end, first, last);
    taps_.clear();
    for (std::size_t t = 0; t < band.taps().size(); t += static_cast<std::size_t>(together_))
      taps_.push_back(band.taps()[t]);
    std::vector<PixelRun> runs;
    while (begin < end) {
      const std::int64_t slice = begin / h.out, n = slice / d.out, front = slice % d.out, top = begin % h.out,
                         count = std::min({most.lines, end - begin, h.out - top}),
                         slices = count < h.out ? 1 : std::min({most.slices, (end - begin) / h.out, d.out - front});
      const float* x = operands_.x + n * image.pitch * cpu::plane(c_.window, &WindowAxis::in);
      band.load(x, {top, top + count, front, front + slices});
      runs.clear();
      if (plain_) {
        runs.push_back({band.line(top), first_result(begin), count, 0, 1, 1, 1});
      } else {
        for (std::int64_t s = 0; s < slices; ++s) {
          for (std::int64_t i = 0; i < count; ++i)
            add_line(band, x, {s, front + s, top + i, first_result(begin + s * h.out + i)}, &runs);
        }
      }
      for (std::int64_t half = first; half < last;) {
        const std::int64_t next = half_panels(half, last);
        run_columns(band, runs, half, next, next < last);
        half = next;
      }
      begin += count * slices;
    }
  }

 private:
  /// A line of results.
  struct ResultLine {
    std::int64_t slice_of_band, slice, line;
    std::int64_t result;  ///< floats before its first result
  };

  /// Returns the floats between neighbouring results of a line.
  std::int64_t result_step() const { return c_.spread ? c_.spread->position : c_.groups * c_.out; }
  /// Returns the floats before the first result of a line, counted over all images.
  std::int64_t first_result(std::int64_t line) const {
    if (!c_.spread) return line * c_.window[2].out * c_.groups * c_.out;
    const std::int64_t lines = c_.window[1].out;
    return c_.spread->first + line / lines * c_.spread->image + line % lines * c_.spread->line;
  }

  /// Finds the lines for the thread to prefetch during every second product.
  void find_upcoming(std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t last) {
    const std::int64_t halves = c_.groups * halves_of_group(c_, micro_), lines = lines_of(c_);
    upcoming_ = cpu::UpcomingLines::slice_of(operands_.upcoming, {begin, end, lines}, {first, last, halves});
    const std::int64_t taps = cpu::plane(c_.window, &WindowAxis::kernel), row = plain_ ? end - begin : c_.window[2].out,
                       tiles = (row + micro_.rows - 1) / micro_.rows * (plain_ ? 1 : end - begin),
                       products = tiles * (last - first + 1) / 2 *
                                  ((c_.in * taps + c_.blocking.depth - 1) / c_.blocking.depth);
    prefetch_count_ = 2 * upcoming_.remaining_lines() / std::max<std::int64_t>(products, 2) + 1;
  }

  /// Has a product ask for lines of this weight, or every second one for what later nodes read.
  void ask_ahead(Ahead& own, strided_product::WindowProduct* p) {
    asks_upcoming_ = !asks_upcoming_ && upcoming_.remaining_lines() > 0;
    if (!asks_upcoming_) return own.step(p);
    std::int64_t count = prefetch_count_;
    const std::byte* lines = upcoming_.take_lines(&count);
    Ahead::ask(reinterpret_cast<const float*>(lines), count, p);
  }

  /// Returns the end of the next step: a whole panel, or its existing half.
  std::int64_t half_panels(std::int64_t half, std::int64_t last) const {
    const std::int64_t of_group = half % halves_of_group(c_, micro_);
    return of_group % 2 == 0 && of_group + 1 < halves_of_group(c_, micro_) && half + 1 < last ? half + 2 : half + 1;
  }

  /// Adds the results of a line, without the lines of windows outside the image, which would add zeros.
  void add_line(const Band& band, const float* image, const ResultLine& at, std::vector<PixelRun>* runs) const {
    const WindowAxis &d = c_.window[0], &h = c_.window[1], &w = c_.window[2];
    const std::int64_t width = w.kernel / together_;
    const AxisTaps slices = c_.is_ordered ? AxisTaps{0, d.kernel} : taps_inside(d, at.slice),
                   lines = c_.is_ordered ? AxisTaps{0, h.kernel} : taps_inside(h, at.line);
    if (sections_.empty()) {
      const std::int64_t first = (slices.begin * h.kernel + lines.begin) * width,
                         merged = lines.count() == h.kernel ? slices.count() : 1;
      const float* a = band.element(at.slice_of_band, at.line, taps_[static_cast<std::size_t>(first)]);
      return runs->push_back(
          {a, at.result, w.out, first, lines.count() * width * merged, slices.count() / merged, h.kernel * width});
    }
    for (const LineSection& s : sections_) {
      const std::int64_t position = h.position(at.line, lines.begin) * w.in + w.position(s.begin, s.first_tap),
                         taps = s.last_tap - s.first_tap, merged = taps == w.kernel ? lines.count() : 1;
      runs->push_back({image + position * c_.groups * c_.in, at.result + s.begin * result_step(), s.end - s.begin,
                       lines.begin * width + s.first_tap, taps * merged, lines.count() / merged, width});
    }
  }

  void run_columns(const Band& band, const std::vector<PixelRun>& runs, std::int64_t half, std::int64_t end,
                   bool more) {
    const std::int64_t halves = halves_of_group(c_, micro_), group = half / halves, width = micro_.columns / 2,
                       column = half % halves * width, channel = group * c_.out + column;
    const int columns = static_cast<int>(std::min<std::int64_t>((end - half) * width, c_.out - column));
    const auto taps = static_cast<std::int64_t>(taps_.size()), row = in_ * taps, ld = result_step();
    const std::int64_t depth = c_.is_ordered ? in_ : std::min(in_, std::max<std::int64_t>(4, kPacked / taps / 16 * 16));
    auto* packed = operands_.panels != nullptr
                       ? nullptr
                       : thread_buffer<float>(static_cast<std::size_t>(depth * taps * micro_.columns), kPackedSlot);
    strided_product::RegisterEpilogue last = finish_in_registers(operands_, finish_, channel, columns);
    const float* add = last.add;
    strided_product::WindowProduct p;
    p.a_row = plain_ ? c_.groups * c_.in : band.step();
    p.ldc = ld;
    p.columns = columns;
    p.b_row = taps * micro_.columns;
    std::int64_t tiles = 0;
    for (const PixelRun& run : runs) tiles += tiles_of(run);
    for (std::int64_t k = 0; k < in_; k += depth) {
      const std::int64_t channels = std::min(depth, in_ - k);
      const float* weight = operands_.weight + channel * row + k * taps;
      const bool another = k + depth < in_;
      const std::int64_t products = channels * taps;
      const std::int64_t together =
                             c_.is_ordered ? taps : std::clamp<std::int64_t>(c_.blocking.depth / channels, 1, taps),
                         step = c_.is_ordered ? channels : std::min(channels, c_.blocking.depth),
                         products_of_tile = ((taps + together - 1) / together) * ((channels + step - 1) / step),
                         steps = tiles * products_of_tile / (upcoming_.remaining_lines() > 0 ? 2 : 1);
      const float* rows_of_b = packed;
      Ahead ahead;
      if (operands_.panels != nullptr) {
        const std::int64_t panel = group * ((halves + 1) / 2) + half % halves / 2;
        const float* whole = operands_.panels + (panel * row + k * taps) * micro_.columns;
        rows_of_b = whole + half % halves % 2 * width;
        if (another || more) ahead = Ahead(whole + products * micro_.columns, 0, 1, products * micro_.columns, steps);
      } else {
        micro_.pack(weight, 1, row, products, columns, packed);
        const float* next = another ? weight + products : operands_.weight + (channel + columns) * row;
        if (another || more) ahead = Ahead(next, row, columns, products, steps);
      }
      for (const PixelRun& run : runs) {
        const std::int64_t parts = tiles_of(run);
        const std::int64_t segment_floats =
            run.segments > 1 ? taps_[static_cast<std::size_t>(run.segment_taps)] - taps_[0] : 0;
        std::int64_t finished = 0;
        for (std::int64_t t = 0; t < parts; ++t) {
          const std::int64_t begin = t * run.count / parts, rows = (t + 1) * run.count / parts - begin;
          const std::int64_t result = run.result + begin * ld + channel;
          p.c = operands_.y + result;
          last.add = add == nullptr ? nullptr : add + result;
          const float* a = run.a + begin * p.a_row + group * in_ + k;
          for (std::int64_t segment = 0; segment < run.segments; ++segment) {
            const float* line = a + segment * segment_floats;
            const std::int64_t first_tap = run.first_tap + segment * run.segment_taps;
            for (std::int64_t tap = 0; tap < run.taps; tap += together) {
              p.taps = taps_.data() + tap;
              p.tap_count = std::min(together, run.taps - tap);
              for (std::int64_t q = 0; q < channels; q += step) {
                p.depth = std::min(step, channels - q);
                p.a = line + q;
                p.b = rows_of_b + q * p.b_row + (first_tap + tap) * micro_.columns;
                p.accumulate = k + segment + tap + q > 0;
                const bool complete = segment + 1 == run.segments && tap + together >= run.taps && q + step >= channels;
                p.finish = !another && complete ? &last : nullptr;
                ask_ahead(ahead, &p);
                micro_.windows[columns > width ? 1 : 0][rows - 1](p);
              }
            }
          }
          // Applies the epilogue while results are in the first cache, to several rows per call because each call has a
          // cost.
          const std::int64_t end = begin + rows;
          if (!finish_ || another || (end - finished < kFinished && end < run.count)) continue;
          const std::int64_t done = run.result + finished * ld + channel;
          finish_.apply(operands_.y + done, ld, end - finished, columns, done, ld);
          finished = end;
        }
      }
    }
  }

  std::int64_t tiles_of(const PixelRun& run) const { return (run.count + micro_.rows - 1) / micro_.rows; }

  const ChannelsLastShape& c_;
  const ChannelsLastOperands& operands_;
  const pointwise::BoundEpilogue& finish_;
  const StridedMicroKernels& micro_;
  bool plain_;
  std::int64_t together_;              ///< elements of a window's line multiplied as a single element
  std::int64_t in_;                    ///< floats of such a merged element
  std::vector<LineSection> sections_;  ///< sections of each line, if the image is read in place despite its padding
  std::vector<std::ptrdiff_t> taps_;
  cpu::UpcomingLines upcoming_;
  std::int64_t prefetch_count_ = 0;  ///< prefetched lines per product
  bool asks_upcoming_ = false;       ///< true if the previous product prefetched for later nodes
};

}  // namespace

bool is_volume(const ChannelsLastShape& c) {
  const WindowAxis& d = c.window[0];
  return d.in != 1 || d.out != 1 || d.kernel != 1;
}

bool suits(const ChannelsLastShape& c, bool arranged) {
  if (has_small_groups(c)) return true;
  const std::int64_t positions = cpu::plane(c.window, &WindowAxis::out),
                     taps = cpu::plane(c.window, &WindowAxis::kernel);
  if (positions < 4 || (is_volume(c) && c.depthwise())) return false;
  constexpr std::int64_t kRegister = 16, kFewChannels = 4, kWorthArranging = 64;
  if (c.depthwise()) return arranged && c.groups >= kRegister;
  if (c.groups > 1 && (c.in < kFewChannels || c.out < kRegister)) return false;
  return c.out >= kFewChannels && (arranged || c.out * taps >= kWorthArranging);
}

void convolve(const ChannelsLastShape& exported, const ChannelsLastOperands& operands,
              const pointwise::BoundEpilogue& finish) {
  const ChannelsLastShape c = merged(exported);
  ChannelsLastOperands at = operands;
  std::vector<float> multiplies_lines;
  if (c.multiplies_lines() && at.panels == nullptr) {
    multiplies_lines = weight_by_lines(c, at.weight);
    at.weight = multiplies_lines.data();
  }
  const StridedMicroKernels& micro = strided_product::micro_kernels();
  const std::int64_t lines = lines_of(c), line = c.window[2].out * c.in * cpu::plane(c.window, &WindowAxis::kernel);
  const std::int64_t halves = c.groups * halves_of_group(c, micro), width = micro.columns / 2;
  const std::int64_t threads = Threads::current().count();
  const auto grain = [](std::int64_t cost) { return (kWorthAThread + cost - 1) / std::max<std::int64_t>(1, cost); };
  ConvolutionWorker worker(c, at, finish);
  // Threads share channels if these divide evenly: then no weight is packed or read twice. But if image and results
  // exceed the weight, each thread stays with its lines, cached since the previous layer.
  const bool even = halves % (2 * threads) == 0 || (halves % threads == 0 && halves >= 5 * threads);
  const bool keeps_lines = at.panels != nullptr && lines >= threads && image_floats(c) >= weight_floats(c);
  const bool automatic = (even || halves >= 8 * threads) && !keeps_lines;
  if (c.blocking.share == ThreadAxis::automatic ? automatic : c.blocking.share == ThreadAxis::channels) {
    return parallel_for(halves, grain(lines * line * width), [&](std::int64_t first, std::int64_t last) {
      ConvolutionWorker(worker).run(0, lines, first, last);
    });
  }
  parallel_for(
      lines, grain(line * c.groups * c.out),
      [&](std::int64_t begin, std::int64_t end) { ConvolutionWorker(worker).run(begin, end, 0, halves); },
      weight_floats(c) * static_cast<std::int64_t>(sizeof(float)));
}

}  // namespace tern::channels_last
