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

/// Results [pixel, pixel + count) of an image whose windows have the same elements: `segments` times `taps` elements,
/// from element `first_tap` on; `a` points to the first of these. A segment is a line of a window, or the whole window.
struct PixelRun {
  const float* a;
  std::int64_t pixel, count;
  std::int64_t first_tap, taps, segments;
};

/// Merges the axes of a pointwise convolution into a single line.
ChannelsLastShape merged(ChannelsLastShape c) {
  if (!is_every_position(c.window)) return c;
  const std::int64_t positions = c.batch * cpu::plane(c.window, &WindowAxis::out);
  c.batch = 1;
  c.window = {};
  c.window[1].in = c.window[1].out = positions;
  return c;
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
  if (c.in_order || c.by_lines() || is_inside(c.window)) return {};
  std::int64_t first = 0, last = 0, inside = 0;
  for (std::int64_t i = 0; i < h.out; ++i) {
    cpu::elements_inside(h, i, &first, &last);
    if (last <= first) return {};
  }
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
        at_(at),
        finish_(finish),
        micro_(strided_product::micro_kernels()),
        plain_(is_every_position(c.window)),
        together_(c.by_lines() ? c.window[2].kernel : 1),
        in_(c.in * together_),
        sections_(sections_inside(c, micro_.rows)) {}

  /// Computes channels of half panels [first, last) in lines [begin, end) of all images.
  void run(std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t last) {
    const WindowAxis& h = c_.window[1];
    const Image image{c_.window, c_.groups * c_.in, c_.groups * c_.in};
    const bool inside = is_inside(c_.window) || !sections_.empty();
    const std::int64_t most =
        inside ? end - begin : std::clamp<std::int64_t>(kConvolveBand / Band::floats(image, 1), 1, end - begin);
    float* buffer =
        inside ? nullptr : thread_buffer<float>(static_cast<std::size_t>(Band::floats(image, most)), kConvolveBandSlot);
    Band band(image, inside, 0, buffer);
    find_upcoming(begin, end, first, last);
    taps_.clear();
    for (std::size_t t = 0; t < band.taps().size(); t += static_cast<std::size_t>(together_))
      taps_.push_back(band.taps()[t]);
    std::vector<PixelRun> runs;
    while (begin < end) {
      const std::int64_t n = begin / h.out, top = begin % h.out, count = std::min({most, end - begin, h.out - top});
      const float* x = at_.x + n * image.pitch * h.in * c_.window[2].in;
      band.load(x, top, top + count);
      runs.clear();
      const std::int64_t pixel = begin * c_.window[2].out;
      if (plain_) {
        runs.push_back({band.line(top), pixel, count, 0, 1, 1});
      } else {
        for (std::int64_t i = 0; i < count; ++i) add_line(band, x, top + i, pixel + i * c_.window[2].out, &runs);
      }
      for (std::int64_t half = first; half < last;) {
        const std::int64_t next = half_panels(half, last);
        run_columns(band, runs, half, next, next < last);
        half = next;
      }
      begin += count;
    }
  }

 private:
  /// Finds the lines for the thread to prefetch during every second product.
  void find_upcoming(std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t last) {
    const std::int64_t halves = c_.groups * halves_of_group(c_, micro_), lines = c_.batch * c_.window[1].out;
    upcoming_ = cpu::UpcomingLines::for_slice(at_.upcoming, {begin, end, lines}, {first, last, halves});
    const std::int64_t taps = cpu::plane(c_.window, &WindowAxis::kernel), row = plain_ ? end - begin : c_.window[2].out,
                       tiles = (row + micro_.rows - 1) / micro_.rows * (plain_ ? 1 : end - begin),
                       products = tiles * (last - first + 1) / 2 *
                                  ((c_.in * taps + c_.blocking.depth - 1) / c_.blocking.depth);
    asked_ = 2 * upcoming_.remaining_lines() / std::max<std::int64_t>(products, 2) + 1;
  }

  /// Has a product ask for lines of this weight, or every second one for what later nodes read.
  void ask_ahead(Ahead& own, strided_product::WindowProduct* p) {
    asks_upcoming_ = !asks_upcoming_ && upcoming_.remaining_lines() > 0;
    if (!asks_upcoming_) return own.step(p);
    std::int64_t count = asked_;
    const std::byte* lines = upcoming_.take_lines(&count);
    Ahead::ask(reinterpret_cast<const float*>(lines), count, p);
  }

  /// Returns the end of the next step: a whole panel, or its existing half.
  std::int64_t half_panels(std::int64_t half, std::int64_t last) const {
    const std::int64_t of_group = half % halves_of_group(c_, micro_);
    return of_group % 2 == 0 && of_group + 1 < halves_of_group(c_, micro_) && half + 1 < last ? half + 2 : half + 1;
  }

  /// Adds the results of a line, without the lines of windows outside the image, which would add zeros.
  void add_line(const Band& band, const float* image, std::int64_t line, std::int64_t pixel,
                std::vector<PixelRun>* runs) const {
    const WindowAxis &h = c_.window[1], &w = c_.window[2];
    const std::int64_t width = w.kernel / together_;
    std::int64_t first = 0, last = h.kernel;
    if (!c_.in_order) cpu::elements_inside(h, line, &first, &last);
    if (last <= first) {  // all elements are padding
      first = 0;
      last = 1;
    }
    const std::int64_t lines = last - first;
    if (sections_.empty()) {
      const float* a = band.line(line) + taps_[static_cast<std::size_t>(first * width)];
      return runs->push_back({a, pixel, w.out, first * width, lines * width, 1});
    }
    for (const LineSection& s : sections_) {
      const std::int64_t position = h.position(line, first) * w.in + w.position(s.begin, s.first_tap),
                         taps = s.last_tap - s.first_tap, merged = taps == w.kernel ? lines : 1;
      runs->push_back({image + position * c_.groups * c_.in, pixel + s.begin, s.end - s.begin,
                       first * width + s.first_tap, taps * merged, lines / merged});
    }
  }

  void run_columns(const Band& band, const std::vector<PixelRun>& runs, std::int64_t half, std::int64_t end,
                   bool more) {
    const std::int64_t halves = halves_of_group(c_, micro_), group = half / halves, width = micro_.columns / 2,
                       column = half % halves * width, channel = group * c_.out + column;
    const int columns = static_cast<int>(std::min<std::int64_t>((end - half) * width, c_.out - column));
    const auto taps = static_cast<std::int64_t>(taps_.size()), row = in_ * taps, ld = c_.groups * c_.out;
    const std::int64_t depth = c_.in_order ? in_ : std::min(in_, std::max<std::int64_t>(4, kPacked / taps / 16 * 16));
    auto* packed = at_.panels != nullptr
                       ? nullptr
                       : thread_buffer<float>(static_cast<std::size_t>(depth * taps * micro_.columns), kPackedSlot);
    strided_product::RegisterEpilogue last = finish_in_registers(at_, finish_, channel, columns);
    const float* add = last.add;
    strided_product::WindowProduct p;
    p.a_row = plain_ ? c_.groups * c_.in : band.step();
    p.ldc = ld;
    p.columns = columns;
    p.b_row = taps * micro_.columns;
    const std::int64_t segment_taps = c_.window[2].kernel / together_,
                       segment_floats = c_.window[1].kernel > 1 ? taps_[static_cast<std::size_t>(segment_taps)] : 0;
    std::int64_t tiles = 0;
    for (const PixelRun& run : runs) tiles += tiles_of(run);
    for (std::int64_t k = 0; k < in_; k += depth) {
      const std::int64_t channels = std::min(depth, in_ - k);
      const float* weight = at_.weight + channel * row + k * taps;
      const bool another = k + depth < in_;
      const std::int64_t products = channels * taps;
      const std::int64_t together =
                             c_.in_order ? taps : std::clamp<std::int64_t>(c_.blocking.depth / channels, 1, taps),
                         step = c_.in_order ? channels : std::min(channels, c_.blocking.depth),
                         products_of_tile = ((taps + together - 1) / together) * ((channels + step - 1) / step),
                         steps = tiles * products_of_tile / (upcoming_.remaining_lines() > 0 ? 2 : 1);
      const float* rows_of_b = packed;
      Ahead ahead;
      if (at_.panels != nullptr) {
        const std::int64_t panel = group * ((halves + 1) / 2) + half % halves / 2;
        const float* whole = at_.panels + (panel * row + k * taps) * micro_.columns;
        rows_of_b = whole + half % halves % 2 * width;
        if (another || more) ahead = Ahead(whole + products * micro_.columns, 0, 1, products * micro_.columns, steps);
      } else {
        micro_.pack(weight, 1, row, products, columns, packed);
        const float* next = another ? weight + products : at_.weight + (channel + columns) * row;
        if (another || more) ahead = Ahead(next, row, columns, products, steps);
      }
      for (const PixelRun& run : runs) {
        const std::int64_t parts = tiles_of(run);
        std::int64_t finished = 0;
        for (std::int64_t t = 0; t < parts; ++t) {
          const std::int64_t begin = t * run.count / parts, rows = (t + 1) * run.count / parts - begin;
          const std::int64_t result = (run.pixel + begin) * ld + channel;
          p.c = at_.y + result;
          last.add = add == nullptr ? nullptr : add + result;
          const float* a = run.a + begin * p.a_row + group * in_ + k;
          for (std::int64_t segment = 0; segment < run.segments; ++segment) {
            const float* line = a + segment * segment_floats;
            const std::int64_t first_tap = run.first_tap + segment * segment_taps;
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
          const std::int64_t done = (run.pixel + finished) * ld + channel;
          finish_.apply(at_.y + done, ld, end - finished, columns, done, ld);
          finished = end;
        }
      }
    }
  }

  std::int64_t tiles_of(const PixelRun& run) const { return (run.count + micro_.rows - 1) / micro_.rows; }

  const ChannelsLastShape& c_;
  const ChannelsLastOperands& at_;
  const pointwise::BoundEpilogue& finish_;
  const StridedMicroKernels& micro_;
  bool plain_;
  std::int64_t together_;              ///< elements of a window's line multiplied as a single element
  std::int64_t in_;                    ///< floats of such a merged element
  std::vector<LineSection> sections_;  ///< sections of each line, if the image is read in place despite its padding
  std::vector<std::ptrdiff_t> taps_;
  cpu::UpcomingLines upcoming_;
  std::int64_t asked_ = 0;      ///< prefetched lines per product
  bool asks_upcoming_ = false;  ///< true if the previous product prefetched for later nodes
};

}  // namespace

bool suits(const ChannelsLastShape& c, bool arranged) {
  if (has_small_groups(c)) return true;
  const std::int64_t positions = cpu::plane(c.window, &WindowAxis::out),
                     taps = cpu::plane(c.window, &WindowAxis::kernel);
  if (c.window[0].in != 1 || c.window[0].out != 1 || c.window[0].kernel != 1 || positions < 4) return false;
  constexpr std::int64_t kRegister = 16, kFewChannels = 4, kWorthArranging = 64;
  if (c.depthwise()) return arranged && c.groups >= kRegister;
  if (c.groups > 1 && (c.in < kFewChannels || c.out < kRegister)) return false;
  return c.out >= kFewChannels && (arranged || c.out * taps >= kWorthArranging);
}

void convolve(const ChannelsLastShape& exported, const ChannelsLastOperands& operands,
              const pointwise::BoundEpilogue& finish) {
  const ChannelsLastShape c = merged(exported);
  ChannelsLastOperands at = operands;
  std::vector<float> by_lines;
  if (c.by_lines() && at.panels == nullptr) {
    by_lines = weight_by_lines(c, at.weight);
    at.weight = by_lines.data();
  }
  const StridedMicroKernels& micro = strided_product::micro_kernels();
  const std::int64_t lines = c.batch * c.window[1].out,
                     line = c.window[2].out * c.in * cpu::plane(c.window, &WindowAxis::kernel);
  const std::int64_t halves = c.groups * halves_of_group(c, micro), width = micro.columns / 2;
  const std::int64_t threads = Threads::current().count();
  const auto grain = [](std::int64_t cost) { return (kWorthAThread + cost - 1) / std::max<std::int64_t>(1, cost); };
  ConvolutionWorker worker(c, at, finish);
  // Threads share channels if these divide evenly: then no weight is packed or read twice. But if image and results
  // exceed the weight, each thread stays with its lines, cached since the previous layer.
  const bool even = halves % (2 * threads) == 0 || (halves % threads == 0 && halves >= 5 * threads);
  const bool keeps_lines = at.panels != nullptr && lines >= threads && image_floats(c) >= weight_floats(c);
  const bool by_rule = (even || halves >= 8 * threads) && !keeps_lines;
  if (c.blocking.share == ThreadAxis::by_rule ? by_rule : c.blocking.share == ThreadAxis::channels) {
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
