#include "kernels/cpu/planes/convolve.h"

#include <algorithm>
#include <array>

#include "kernels/cpu/planes/layout.h"
#include "kernels/cpu/planes/volumes.h"
#include "kernels/cpu/products/tiles/tiles.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::planes {
namespace {

using cpu::WindowAxis;

constexpr std::int64_t kOnePlane = 6 << 10;        // floats of a depthwise band: half of a first cache
constexpr std::int64_t kSeveralPlanes = 24 << 10;  // floats shared by many output channels
constexpr std::int64_t kSmallPlanes = 3 << 10;
constexpr std::int64_t kConvolveMostTaps = 256, kMostInputs = 4, kConvolveMostStride = 2;
constexpr std::int64_t kFewestColumns = 4, kMostColumns = 4096, kMostProducts = 4, kRows = 16;
constexpr std::int64_t kWorthFinishing = 1 << 10;
constexpr std::size_t kConvolveInputSlot = 0, kConvolveResultSlot = 1;

/// Collects neighbouring results until a call pays off.
class Finishing {
 public:
  explicit Finishing(const Finished& f) : finished_(f) {}
  void add(std::int64_t begin, std::int64_t count) {
    if (!finished_) return;
    if (begin != begin_ + count_) flush();
    if (count_ == 0) begin_ = begin;
    count_ += count;
    if (count_ >= kWorthFinishing) flush();
  }
  void flush() {
    if (count_ > 0) finished_(begin_, count_);
    count_ = 0;
  }

 private:
  const Finished& finished_;
  std::int64_t begin_ = 0, count_ = 0;
};

Bands bands_for(const DirectConvolution& c, std::int64_t parts) {
  return bands_of(c.window[1], c.window[2], c.in, c.in == 1 ? kOnePlane : kSeveralPlanes, parts);
}

/// Returns the elements of a weight row.
std::int64_t row_of(const DirectConvolution& c) {
  return c.in * cpu::plane(c.window, &WindowAxis::kernel);
}

/// A block of result rows from a single group's input.
struct ResultRowBlock {
  std::int64_t image = 0, group = 0, top = 0, rows = 0;
};

constexpr std::int64_t kMostParts = 16;

/// Returns the number of images loaded before the first is computed: a load that spans several recent stores waits for
/// their retirement.
std::int64_t batch_of(const DirectConvolution& c, std::int64_t input) {
  return c.out > 1 ? 1 : std::clamp<std::int64_t>(kSmallPlanes / input, 1, kMostParts);
}

/// True if every image is a single window: each result is the product of a weight row with the whole image.
bool is_one_window(const DirectConvolution& c) {
  return std::ranges::all_of(c.window,
                             [](const WindowAxis& a) {
                               return a.in == a.kernel && a.out == 1 && a.before == 0 && (a.dilation == 1 || a.in == 1);
                             }) &&
         c.batch <= kMostProducts && row_of(c) >= kFewestColumns && row_of(c) <= kMostColumns;
}

bool is_volume(const DirectConvolution& c) {
  const WindowAxis& d = c.window[0];
  return d.in != 1 || d.out != 1 || d.kernel != 1 || d.before != 0;
}

void multiply(const DirectConvolution& c, const float* x, const float* weight, const float* bias, float* y,
              const Finished& finished) {
  const PlaneLoops& loops = plane_loops();
  const std::int64_t columns = row_of(c),
                     worth_reading = tiles::available() ? 1 << 16 : 1 << 14;  // weights of a thread
  for (std::int64_t i = 0; i < c.batch * c.groups; ++i) {
    const std::int64_t first = i % c.groups * c.out;
    parallel_for((c.out + kRows - 1) / kRows, (worth_reading + kRows * columns - 1) / (kRows * columns),
                 [&](std::int64_t begin, std::int64_t end) {
                   const std::int64_t row = begin * kRows, rows = std::min(end * kRows, c.out) - row;
                   loops.matvec(weight + (first + row) * columns, rows, columns, x + i * columns,
                                bias == nullptr ? nullptr : bias + first + row, y + i * c.out + row);
                   if (finished) finished(i * c.out + row, rows);
                 });
  }
}

}  // namespace

bool is_direct(const DirectConvolution& c) {
  if (is_one_window(c)) return true;
  if (is_volume(c)) return is_direct_volume(c);
  const WindowAxis &h = c.window[1], &w = c.window[2];
  if (c.in > kMostInputs || row_of(c) > kConvolveMostTaps) return false;
  // Other algorithms are as good without overlap of windows or with many results per input.
  if (c.in > 1 && (h.stride > kConvolveMostStride || w.stride > kConvolveMostStride)) return false;
  if (c.in == 1 && c.groups == 1 && h.kernel * w.kernel == 1) return false;
  return has_bands(c.window, c.in);
}

void convolve(const DirectConvolution& c, const float* x, const float* weight, const float* bias, float* y,
              const Finished& finished) {
  if (is_one_window(c)) return multiply(c, x, weight, bias, y, finished);
  if (is_volume(c)) return convolve_volumes(c, x, weight, bias, y, finished);
  const WindowAxis &h = c.window[1], &w = c.window[2];
  const PlaneLoops& loops = plane_loops();
  const std::int64_t images = c.batch * c.groups, threads = Threads::current().count();
  const std::int64_t cost = c.in * h.kernel * w.kernel * c.out;  // products per position
  const bool few = images < 4 * threads && images * h.out * w.out * cost >= 2 * kWorthAThread;
  const Bands bands = bands_for(c, few ? (4 * threads + images - 1) / images : 1);
  const std::vector<std::int64_t> taps = taps_of(bands, h, w, c.in);
  const std::vector<ColumnTaps> columns =
      c.in == 1 && c.out < kManyChannels ? columns_of(bands, h, w) : std::vector<ColumnTaps>();
  const auto tap_count = static_cast<std::int64_t>(taps.size());
  const std::int64_t plane_in = h.in * w.in, plane_out = h.out * w.out;
  const std::int64_t ld = (bands.positions(bands.rows, w.out) + kSlack - 1) / kSlack * kSlack;
  const std::int64_t band_cost = std::max<std::int64_t>(1, bands.rows * w.out * cost);
  const std::int64_t input = bands.channel * c.in, batch = batch_of(c, input);
  parallel_for(
      images * bands.count, (kWorthAThread + band_cost - 1) / band_cost, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t floats = batch * input + kMostTogether * kSlack;
        const std::int64_t lines = std::max<std::int64_t>(batch, loops.channels);
        float* padded = thread_buffer<float>(static_cast<std::size_t>(floats), kConvolveInputSlot);
        float* sums = thread_buffer<float>(static_cast<std::size_t>(ld * lines), kConvolveResultSlot);
        std::fill_n(padded, floats, 0.0F);
        Finishing finishing(finished);
        std::array<ResultRowBlock, kMostParts> parts;
        ResultRowBlock next{begin / bands.count, begin / bands.count % c.groups, begin % bands.count * bands.rows, 0};
        const auto sum = [&](std::int64_t b, std::int64_t k, std::int64_t count, float* to) {
          const ResultRowBlock& part = parts[static_cast<std::size_t>(b)];
          const std::int64_t channel = part.group * c.out + k;
          loops.convolve(padded + b * input, taps.data(), tap_count, weight + channel * tap_count, tap_count,
                         bias == nullptr ? nullptr : bias + channel, static_cast<int>(count),
                         bands.positions(part.rows, w.out), to, ld);
        };
        const auto finish = [&](std::int64_t b, std::int64_t k, const float* from) {
          const ResultRowBlock& part = parts[static_cast<std::size_t>(b)];
          const std::int64_t at = (part.image * c.out + k) * plane_out + part.top * w.out;
          loops.store(from, bands.layout.pitch, w.out, part.rows, y + at);
          finishing.add(at, part.rows * w.out);
        };
        const auto depthwise = [&](std::int64_t b) {
          const ResultRowBlock& part = parts[static_cast<std::size_t>(b)];
          for (std::int64_t k = 0; k < c.out; ++k) {
            const std::int64_t channel = part.group * c.out + k,
                               at = (part.image * c.out + k) * plane_out + part.top * w.out;
            loops.depthwise(padded + b * input, bands.layout.pitch, columns.data(),
                            static_cast<std::int64_t>(columns.size()), weight + channel * tap_count,
                            bias == nullptr ? 0 : bias[channel], part.rows, w.out, y + at);
            finishing.add(at, part.rows * w.out);
          }
        };
        for (std::int64_t i = begin; i < end; i += batch) {
          const std::int64_t together = std::min(batch, end - i);
          for (std::int64_t b = 0; b < together; ++b) {
            next.rows = std::min(bands.rows, h.out - next.top);
            for (std::int64_t k = 0; k < c.in; ++k)
              loops.load(bands.layout, x + (next.image * c.in + k) * plane_in, next.top * h.stride, 0,
                         padded + b * input + k * bands.channel);
            parts[static_cast<std::size_t>(b)] = next;
            next.top += bands.rows;
            if (next.top < h.out) continue;
            next = {next.image + 1, next.group + 1 == c.groups ? 0 : next.group + 1, 0, 0};
          }
          if (!columns.empty()) {
            for (std::int64_t b = 0; b < together; ++b) depthwise(b);
            continue;
          }
          if (c.out == 1) {
            for (std::int64_t b = 0; b < together; ++b) sum(b, 0, 1, sums + b * ld);
            for (std::int64_t b = 0; b < together; ++b) finish(b, 0, sums + b * ld);
            continue;
          }
          for (std::int64_t k = 0; k < c.out; k += loops.channels) {
            const std::int64_t count = std::min<std::int64_t>(loops.channels, c.out - k);
            sum(0, k, count, sums);
            for (std::int64_t j = 0; j < count; ++j) finish(0, k + j, sums + j * ld);
          }
        }
        finishing.flush();
      });
}

}  // namespace tern::planes
