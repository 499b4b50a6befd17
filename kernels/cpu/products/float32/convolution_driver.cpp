#include "kernels/cpu/products/float32/convolution_driver.h"

#include <algorithm>
#include <array>

#include "kernels/cpu/products/float32/strided_driver.h"
#include "kernels/cpu/products/float32/strided_microkernel.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern {
namespace {

using cpu::Window;
using cpu::WindowAxis;

using strided_product::kDepth;
using strided_product::kPackedSlot;
using strided_product::kWorthAThread;

constexpr std::int64_t kPanels = 8;  // panels of columns packed before weights are read: 256 KiB

/// Windows beside each other in one line of the result.
struct WindowRun {
  std::int64_t column = 0, count = 0;    ///< columns of the panel
  std::int64_t d = 0, h = 0, first = 0;  ///< position in the result
};

struct ConvolutionDriverPanel {
  std::array<WindowRun, strided_product::kMostColumns> runs;
  int count = 0;
};

ConvolutionDriverPanel panel_at(const Window& w, std::int64_t first, std::int64_t columns) {
  ConvolutionDriverPanel p;
  for (std::int64_t at = 0; at < columns;) {
    const std::int64_t position = first + at, line = position / w[2].out, start = position % w[2].out;
    const std::int64_t count = std::min(columns - at, w[2].out - start);
    p.runs[static_cast<std::size_t>(p.count++)] = {at, count, line / w[1].out, line % w[1].out, start};
    at += count;
  }
  return p;
}

/// Copies an element of the kernel at `count` windows: zeros where it lies beside the input.
void copy_run(const WindowAxis& w, const float* line, std::int64_t first, std::int64_t element, std::int64_t count,
              float* to) {
  const std::int64_t from = w.position(first, element);
  if (w.stride == 1) {
    const std::int64_t begin = std::clamp<std::int64_t>(-from, 0, count),
                       end = std::clamp<std::int64_t>(w.in - from, begin, count);
    for (std::int64_t i = 0; i < begin; ++i) to[i] = 0;
    for (std::int64_t i = begin; i < end; ++i) to[i] = line[from + i];
    for (std::int64_t i = end; i < count; ++i) to[i] = 0;
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = from + i * w.stride;
    to[i] = at >= 0 && at < w.in ? line[at] : 0.0F;
  }
}

/// Rows [begin, begin + depth) of the columns of one panel; `width` floats each, with zeros behind the last column.
void pack_columns(const FloatConvolution& c, const float* x, const ConvolutionDriverPanel& panel, std::int64_t columns,
                  std::int64_t begin, std::int64_t depth, std::int64_t width, float* to) {
  const Window& w = c.window;
  const std::int64_t kernel = cpu::plane(w, &WindowAxis::kernel), size = cpu::plane(w, &WindowAxis::in);
  std::int64_t channel = begin / kernel, k = begin % kernel % w[2].kernel,
               h = begin % kernel / w[2].kernel % w[1].kernel, d = begin % kernel / w[2].kernel / w[1].kernel;
  for (std::int64_t row = 0; row < depth; ++row, to += width) {
    for (int r = 0; r < panel.count; ++r) {
      const WindowRun& run = panel.runs[static_cast<std::size_t>(r)];
      const std::int64_t id = w[0].position(run.d, d), ih = w[1].position(run.h, h);
      if (id < 0 || id >= w[0].in || ih < 0 || ih >= w[1].in) {
        std::fill_n(to + run.column, run.count, 0.0F);
      } else {
        copy_run(w[2], x + channel * size + (id * w[1].in + ih) * w[2].in, run.first, k, run.count, to + run.column);
      }
    }
    std::fill(to + columns, to + width, 0.0F);
    if (++k < w[2].kernel) continue;
    k = 0;
    if (++h < w[1].kernel) continue;
    h = 0;
    if (++d < w[0].kernel) continue;
    d = 0;
    ++channel;
  }
}

/// Channels [top, bottom) of the result at windows [begin, end).
struct ConvolutionDriverPart {
  std::int64_t top, bottom, begin, end;
};

void convolve_part(const FloatConvolution& c, const float* x, const float* weight, const ConvolutionDriverPart& part,
                   float* y) {
  const strided_product::StridedMicroKernels& kernels = strided_product::micro_kernels();
  const std::int64_t rows = c.in * cpu::plane(c.window, &WindowAxis::kernel),
                     positions = cpu::plane(c.window, &WindowAxis::out), width = kernels.columns;
  float* packed = thread_buffer<float>(static_cast<std::size_t>(kPanels * width * std::min(kDepth, rows)), kPackedSlot);
  std::array<ConvolutionDriverPanel, kPanels> panels;
  for (std::int64_t begin = part.begin; begin < part.end; begin += kPanels * width) {
    const std::int64_t count = (std::min(part.end - begin, kPanels * width) + width - 1) / width;
    const auto columns = [&](std::int64_t p) { return std::min(width, part.end - begin - p * width); };
    for (std::int64_t p = 0; p < count; ++p)
      panels[static_cast<std::size_t>(p)] = panel_at(c.window, begin + p * width, columns(p));
    for (std::int64_t at = 0; at < rows; at += kDepth) {
      const std::int64_t depth = std::min(kDepth, rows - at);
      for (std::int64_t p = 0; p < count; ++p) {
        pack_columns(c, x, panels[static_cast<std::size_t>(p)], columns(p), at, depth, width,
                     packed + p * width * depth);
      }
      for (std::int64_t i = part.top; i < part.bottom; i += kernels.rows) {
        const auto channels = static_cast<std::size_t>(std::min<std::int64_t>(kernels.rows, part.bottom - i));
        for (std::int64_t p = 0; p < count; ++p) {
          kernels.of_rows[channels - 1](weight + i * rows + at, rows, 1, packed + p * width * depth, width, depth,
                                        y + i * positions + begin + p * width, positions, static_cast<int>(columns(p)),
                                        strided_product::SumMode::added);
        }
      }
    }
  }
}

/// Every window is one element of the input, in order: the columns are the input itself.
bool is_plain_product(const Window& w) {
  return std::ranges::all_of(
      w, [](const WindowAxis& a) { return a.kernel == 1 && a.stride == 1 && a.before == 0 && a.in == a.out; });
}

}  // namespace

void convolve(const FloatConvolution& c, const float* x, const float* weight, float* y) {
  const std::int64_t positions = cpu::plane(c.window, &WindowAxis::out),
                     rows = c.in * cpu::plane(c.window, &WindowAxis::kernel);
  if (is_plain_product(c.window)) {
    return sgemm(c.out, positions, rows, weight, rows, 1, x, positions, 1, y, positions, true);
  }
  const strided_product::StridedMicroKernels& kernels = strided_product::micro_kernels();
  const std::int64_t width = kernels.columns, panels = (positions + width - 1) / width;
  // Threads share the windows; where there are few of those, the channels too, and each packs for itself.
  const std::int64_t threads = Threads::current().count();
  const std::int64_t blocks = (c.out + kernels.rows - 1) / kernels.rows;
  const std::int64_t slices = panels >= 2 * threads ? 1 : std::clamp<std::int64_t>(2 * threads / panels, 1, blocks);
  const std::int64_t cost = std::max<std::int64_t>(1, width * rows * c.out / slices);
  parallel_for(panels * slices, (kWorthAThread + cost - 1) / cost, [&](std::int64_t first, std::int64_t last) {
    while (first < last) {
      const std::int64_t slice = first / panels, begin = first % panels, end = std::min(panels, begin + last - first);
      const std::int64_t top = slice * blocks / slices * kernels.rows,
                         bottom = std::min(c.out, (slice + 1) * blocks / slices * kernels.rows);
      convolve_part(c, x, weight, {top, bottom, begin * width, std::min(positions, end * width)}, y);
      first += end - begin;
    }
  });
}

}  // namespace tern
