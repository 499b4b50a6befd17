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

constexpr std::int64_t kPanelBatch = 8;  // panels packed at a time (256 KiB), then multiplied by all weights

/// Consecutive windows in one row of the result.
struct WindowRun {
  std::int64_t column = 0, count = 0;           ///< columns of the panel
  std::int64_t d = 0, h = 0, first_window = 0;  ///< position of the first window in the result
};

struct ConvolutionDriverPanel {
  std::array<WindowRun, strided_product::kMostColumns> window_runs;
  int count = 0;
};

ConvolutionDriverPanel make_panel(const Window& w, std::int64_t first_window, std::int64_t columns) {
  ConvolutionDriverPanel panel;
  for (std::int64_t column = 0; column < columns;) {
    const std::int64_t position = first_window + column, line = position / w[2].out, start = position % w[2].out;
    const std::int64_t count = std::min(columns - column, w[2].out - start);
    panel.window_runs[static_cast<std::size_t>(panel.count++)] = {column, count, line / w[1].out, line % w[1].out,
                                                                  start};
    column += count;
  }
  return panel;
}

/// Gathers kernel element `element` of `count` windows along the last axis: out[i] belongs to window first_window + i.
/// Elements in the padding are zero.
void copy_run(const WindowAxis& w, const float* input_row, std::int64_t first_window, std::int64_t element,
              std::int64_t count, float* out) {
  const std::int64_t begin_position = w.position(first_window, element);
  if (w.stride == 1) {
    const std::int64_t begin = std::clamp<std::int64_t>(-begin_position, 0, count),
                       end = std::clamp<std::int64_t>(w.in - begin_position, begin, count);
    for (std::int64_t i = 0; i < begin; ++i) out[i] = 0;
    for (std::int64_t i = begin; i < end; ++i) out[i] = input_row[begin_position + i];
    for (std::int64_t i = end; i < count; ++i) out[i] = 0;
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t position = begin_position + i * w.stride;
    out[i] = position >= 0 && position < w.in ? input_row[position] : 0.0F;
  }
}

/// Packs rows [begin, begin + depth) of the im2col matrix (rows: channel and kernel element; columns: windows) for one
/// panel: `width` floats per row, zeros after the last of `columns`.
void pack_columns(const FloatConvolution& c, const float* x, const ConvolutionDriverPanel& panel, std::int64_t columns,
                  std::int64_t begin, std::int64_t depth, std::int64_t width, float* packed) {
  const Window& w = c.window;
  const std::int64_t kernel_volume = cpu::plane(w, &WindowAxis::kernel),
                     channel_volume = cpu::plane(w, &WindowAxis::in);
  std::int64_t channel = begin / kernel_volume, kernel_w = begin % kernel_volume % w[2].kernel,
               kernel_h = begin % kernel_volume / w[2].kernel % w[1].kernel,
               kernel_d = begin % kernel_volume / w[2].kernel / w[1].kernel;
  for (std::int64_t row = 0; row < depth; ++row, packed += width) {
    for (int r = 0; r < panel.count; ++r) {
      const WindowRun& run = panel.window_runs[static_cast<std::size_t>(r)];
      const std::int64_t in_d = w[0].position(run.d, kernel_d), in_h = w[1].position(run.h, kernel_h);
      if (in_d < 0 || in_d >= w[0].in || in_h < 0 || in_h >= w[1].in) {
        std::fill_n(packed + run.column, run.count, 0.0F);
      } else {
        copy_run(w[2], x + channel * channel_volume + (in_d * w[1].in + in_h) * w[2].in, run.first_window, kernel_w,
                 run.count, packed + run.column);
      }
    }
    std::fill(packed + columns, packed + width, 0.0F);
    if (++kernel_w < w[2].kernel) continue;
    kernel_w = 0;
    if (++kernel_h < w[1].kernel) continue;
    kernel_h = 0;
    if (++kernel_d < w[0].kernel) continue;
    kernel_d = 0;
    ++channel;
  }
}

/// Output channels [top, bottom) of the result at windows [begin, end).
struct ConvolutionDriverPart {
  std::int64_t top, bottom, begin, end;
};

void convolve_part(const FloatConvolution& c, const float* x, const float* weight, const ConvolutionDriverPart& part,
                   float* y) {
  const strided_product::StridedMicroKernels& kernels = strided_product::micro_kernels();
  const std::int64_t depth_total = c.in * cpu::plane(c.window, &WindowAxis::kernel),
                     window_count = cpu::plane(c.window, &WindowAxis::out), panel_width = kernels.columns;
  float* packed = thread_buffer<float>(
      static_cast<std::size_t>(kPanelBatch * panel_width * std::min(kDepth, depth_total)), kPackedSlot);
  std::array<ConvolutionDriverPanel, kPanelBatch> panels;
  for (std::int64_t begin = part.begin; begin < part.end; begin += kPanelBatch * panel_width) {
    const std::int64_t panel_count =
        (std::min(part.end - begin, kPanelBatch * panel_width) + panel_width - 1) / panel_width;
    const auto columns = [&](std::int64_t p) { return std::min(panel_width, part.end - begin - p * panel_width); };
    for (std::int64_t p = 0; p < panel_count; ++p)
      panels[static_cast<std::size_t>(p)] = make_panel(c.window, begin + p * panel_width, columns(p));
    for (std::int64_t depth_begin = 0; depth_begin < depth_total; depth_begin += kDepth) {
      const std::int64_t depth = std::min(kDepth, depth_total - depth_begin);
      for (std::int64_t p = 0; p < panel_count; ++p) {
        pack_columns(c, x, panels[static_cast<std::size_t>(p)], columns(p), depth_begin, depth, panel_width,
                     packed + p * panel_width * depth);
      }
      for (std::int64_t out_channel = part.top; out_channel < part.bottom; out_channel += kernels.rows) {
        const auto channels = static_cast<std::size_t>(std::min<std::int64_t>(kernels.rows, part.bottom - out_channel));
        for (std::int64_t p = 0; p < panel_count; ++p) {
          kernels.row_kernels[channels - 1](weight + out_channel * depth_total + depth_begin, depth_total, 1,
                                            packed + p * panel_width * depth, panel_width, depth,
                                            y + out_channel * window_count + begin + p * panel_width, window_count,
                                            static_cast<int>(columns(p)), strided_product::SumMode::added);
        }
      }
    }
  }
}

/// True if the im2col matrix is the input itself: a convolution of 1 x 1 without padding and strides.
bool is_plain_product(const Window& w) {
  return std::ranges::all_of(
      w, [](const WindowAxis& a) { return a.kernel == 1 && a.stride == 1 && a.padding_before == 0 && a.in == a.out; });
}

}  // namespace

void convolve(const FloatConvolution& c, const float* x, const float* weight, float* y) {
  const std::int64_t window_count = cpu::plane(c.window, &WindowAxis::out),
                     depth = c.in * cpu::plane(c.window, &WindowAxis::kernel);
  if (is_plain_product(c.window)) {
    return sgemm(c.out, window_count, depth, weight, depth, 1, x, window_count, 1, y, window_count, true);
  }
  const strided_product::StridedMicroKernels& kernels = strided_product::micro_kernels();
  const std::int64_t panel_width = kernels.columns, panel_count = (window_count + panel_width - 1) / panel_width;
  // Threads divide the panels. Few panels: threads divide the output channels too, and each packs its own panels.
  const std::int64_t threads = Threads::current().count();
  const std::int64_t blocks = (c.out + kernels.rows - 1) / kernels.rows;
  const std::int64_t channel_slices =
      panel_count >= 2 * threads ? 1 : std::clamp<std::int64_t>(2 * threads / panel_count, 1, blocks);
  const std::int64_t cost = std::max<std::int64_t>(1, panel_width * depth * c.out / channel_slices);
  parallel_for(
      panel_count * channel_slices, (kWorthAThread + cost - 1) / cost, [&](std::int64_t job, std::int64_t job_end) {
        while (job < job_end) {
          const std::int64_t channel_slice = job / panel_count, begin = job % panel_count,
                             end = std::min(panel_count, begin + job_end - job);
          const std::int64_t top = channel_slice * blocks / channel_slices * kernels.rows,
                             bottom = std::min(c.out, (channel_slice + 1) * blocks / channel_slices * kernels.rows);
          convolve_part(c, x, weight, {top, bottom, begin * panel_width, std::min(window_count, end * panel_width)}, y);
          job += end - begin;
        }
      });
}

}  // namespace tern
