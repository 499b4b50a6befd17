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

constexpr std::int64_t kDepthwiseBandFloats = 6 << 10;  // floats of a depthwise band: half of a first cache
constexpr std::int64_t kSharedBandFloats = 24 << 10;    // floats shared by many output channels
constexpr std::int64_t kBatchFloats = 3 << 10;          // floats of the images loaded together
constexpr std::int64_t kConvolveMaxTaps = 256, kConvolveMaxInputs = 4, kConvolveMaxStride = 2;
constexpr std::int64_t kMatvecMinColumns = 4, kMatvecMaxColumns = 4096, kMatvecMaxBatch = 4, kRows = 16;
constexpr std::int64_t kMinFinishedElements = 1 << 10;
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
    if (count_ >= kMinFinishedElements) flush();
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
  return bands_of(c.window[1], c.window[2], c.in, c.in == 1 ? kDepthwiseBandFloats : kSharedBandFloats, parts);
}

/// Returns the elements of a weight row.
std::int64_t weight_row_elements(const DirectConvolution& c) {
  return c.in * cpu::plane(c.window, &WindowAxis::kernel);
}

/// A block of result rows from a single group's input.
struct ResultRowBlock {
  std::int64_t image = 0, group = 0, top = 0, rows = 0;
};

constexpr std::int64_t kConvolveMaxParts = 16;

/// Returns the number of images loaded before the first is computed: a load that spans several recent stores waits for
/// their retirement.
std::int64_t images_per_batch(const DirectConvolution& c, std::int64_t input_elements) {
  return c.out > 1 ? 1 : std::clamp<std::int64_t>(kBatchFloats / input_elements, 1, kConvolveMaxParts);
}

/// True if every image is a single window: each result is the product of a weight row with the whole image.
bool is_one_window(const DirectConvolution& c) {
  return std::ranges::all_of(c.window,
                             [](const WindowAxis& a) {
                               return a.in == a.kernel && a.out == 1 && a.padding_before == 0 &&
                                      (a.dilation == 1 || a.in == 1);
                             }) &&
         c.batch <= kMatvecMaxBatch && weight_row_elements(c) >= kMatvecMinColumns &&
         weight_row_elements(c) <= kMatvecMaxColumns;
}

bool is_volume(const DirectConvolution& c) {
  const WindowAxis& d = c.window[0];
  return d.in != 1 || d.out != 1 || d.kernel != 1 || d.padding_before != 0;
}

void multiply(const DirectConvolution& c, const float* x, const float* weight, const float* bias, float* y,
              const Finished& finished) {
  const PlaneLoops& loops = plane_loops();
  const std::int64_t columns = weight_row_elements(c),
                     weights_per_thread = tiles::available() ? 1 << 16 : 1 << 14;  // weights of a thread
  for (std::int64_t plane = 0; plane < c.batch * c.groups; ++plane) {
    const std::int64_t first_row = plane % c.groups * c.out;
    parallel_for((c.out + kRows - 1) / kRows, (weights_per_thread + kRows * columns - 1) / (kRows * columns),
                 [&](std::int64_t begin, std::int64_t end) {
                   const std::int64_t row = begin * kRows, rows = std::min(end * kRows, c.out) - row;
                   loops.matvec(weight + (first_row + row) * columns, rows, columns, x + plane * columns,
                                bias == nullptr ? nullptr : bias + first_row + row, y + plane * c.out + row);
                   if (finished) finished(plane * c.out + row, rows);
                 });
  }
}

}  // namespace

bool is_direct(const DirectConvolution& c) {
  if (is_one_window(c)) return true;
  if (is_volume(c)) return is_direct_volume(c);
  const WindowAxis &h = c.window[1], &w = c.window[2];
  if (c.in > kConvolveMaxInputs || weight_row_elements(c) > kConvolveMaxTaps) return false;
  // Other algorithms are as good without overlap of windows or with many results per input.
  if (c.in > 1 && (h.stride > kConvolveMaxStride || w.stride > kConvolveMaxStride)) return false;
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
  const bool splits_images = images < 4 * threads && images * h.out * w.out * cost >= 2 * kWorthAThread;
  const Bands bands = bands_for(c, splits_images ? (4 * threads + images - 1) / images : 1);
  const std::vector<std::int64_t> taps = taps_of(bands, h, w, c.in);
  const std::vector<ColumnTaps> columns =
      c.in == 1 && c.out < kManyChannels ? columns_of(bands, h, w) : std::vector<ColumnTaps>();
  const auto tap_count = static_cast<std::int64_t>(taps.size());
  const std::int64_t plane_in = h.in * w.in, plane_out = h.out * w.out;
  const std::int64_t ld = (bands.positions(bands.rows, w.out) + kSlack - 1) / kSlack * kSlack;
  const std::int64_t band_cost = std::max<std::int64_t>(1, bands.rows * w.out * cost);
  const std::int64_t padded_elements = bands.channel * c.in, batch = images_per_batch(c, padded_elements);
  parallel_for(
      images * bands.count, (kWorthAThread + band_cost - 1) / band_cost, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t floats = batch * padded_elements + kMostTogether * kSlack;
        const std::int64_t lines = std::max<std::int64_t>(batch, loops.channels);
        float* padded = thread_buffer<float>(static_cast<std::size_t>(floats), kConvolveInputSlot);
        float* sums = thread_buffer<float>(static_cast<std::size_t>(ld * lines), kConvolveResultSlot);
        std::fill_n(padded, floats, 0.0F);
        Finishing finishing(finished);
        std::array<ResultRowBlock, kConvolveMaxParts> parts;
        ResultRowBlock next{begin / bands.count, begin / bands.count % c.groups, begin % bands.count * bands.rows, 0};
        const auto compute_sums = [&](std::int64_t part_index, std::int64_t out_channel, std::int64_t count,
                                      float* result) {
          const ResultRowBlock& part = parts[static_cast<std::size_t>(part_index)];
          const std::int64_t channel = part.group * c.out + out_channel;
          loops.convolve(padded + part_index * padded_elements, taps.data(), tap_count, weight + channel * tap_count,
                         tap_count, bias == nullptr ? nullptr : bias + channel, static_cast<int>(count),
                         bands.positions(part.rows, w.out), result, ld);
        };
        const auto store_result = [&](std::int64_t part_index, std::int64_t out_channel, const float* source) {
          const ResultRowBlock& part = parts[static_cast<std::size_t>(part_index)];
          const std::int64_t result_offset = (part.image * c.out + out_channel) * plane_out + part.top * w.out;
          loops.store(source, bands.layout.pitch, w.out, part.rows, y + result_offset);
          finishing.add(result_offset, part.rows * w.out);
        };
        const auto depthwise = [&](std::int64_t part_index) {
          const ResultRowBlock& part = parts[static_cast<std::size_t>(part_index)];
          for (std::int64_t out_channel = 0; out_channel < c.out; ++out_channel) {
            const std::int64_t channel = part.group * c.out + out_channel,
                               result_offset = (part.image * c.out + out_channel) * plane_out + part.top * w.out;
            loops.depthwise(padded + part_index * padded_elements, bands.layout.pitch, columns.data(),
                            static_cast<std::int64_t>(columns.size()), weight + channel * tap_count,
                            bias == nullptr ? 0 : bias[channel], part.rows, w.out, y + result_offset);
            finishing.add(result_offset, part.rows * w.out);
          }
        };
        for (std::int64_t i = begin; i < end; i += batch) {
          const std::int64_t part_count = std::min(batch, end - i);
          for (std::int64_t part_index = 0; part_index < part_count; ++part_index) {
            next.rows = std::min(bands.rows, h.out - next.top);
            for (std::int64_t out_channel = 0; out_channel < c.in; ++out_channel)
              loops.load(bands.layout, x + (next.image * c.in + out_channel) * plane_in, next.top * h.stride, 0,
                         padded + part_index * padded_elements + out_channel * bands.channel);
            parts[static_cast<std::size_t>(part_index)] = next;
            next.top += bands.rows;
            if (next.top < h.out) continue;
            next = {next.image + 1, next.group + 1 == c.groups ? 0 : next.group + 1, 0, 0};
          }
          if (!columns.empty()) {
            for (std::int64_t part_index = 0; part_index < part_count; ++part_index) depthwise(part_index);
            continue;
          }
          if (c.out == 1) {
            for (std::int64_t part_index = 0; part_index < part_count; ++part_index)
              compute_sums(part_index, 0, 1, sums + part_index * ld);
            for (std::int64_t part_index = 0; part_index < part_count; ++part_index)
              store_result(part_index, 0, sums + part_index * ld);
            continue;
          }
          for (std::int64_t out_channel = 0; out_channel < c.out; out_channel += loops.channels) {
            const std::int64_t count = std::min<std::int64_t>(loops.channels, c.out - out_channel);
            compute_sums(0, out_channel, count, sums);
            for (std::int64_t j = 0; j < count; ++j) store_result(0, out_channel + j, sums + j * ld);
          }
        }
        finishing.flush();
      });
}

}  // namespace tern::planes
