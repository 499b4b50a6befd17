#include "kernels/cpu/channels_last/transposed.h"

#include <algorithm>
#include <numeric>

#include "kernels/cpu/channels_last/panels.h"

namespace tern::channels_last {
namespace {

using cpu::WindowAxis;

/// Results of an axis `stride` apart from `first` on: their window without strides, and the elements of the kernel that
/// reach them.
struct PhaseAxis {
  WindowAxis window;
  std::vector<std::int64_t> elements;
};

/// `a` is the axis of the forward convolution: input p reaches result p * stride + k * dilation - before by element k.
PhaseAxis phase_of(const WindowAxis& a, std::int64_t first) {
  PhaseAxis phase;
  phase.window.in = a.out;
  phase.window.out = (a.in - first + a.stride - 1) / a.stride;
  // The last element reads the first input of a window.
  for (std::int64_t k = a.kernel - 1; k >= 0; --k) {
    if ((first + a.padding_before - k * a.dilation) % a.stride == 0) phase.elements.push_back(k);
  }
  if (phase.elements.empty()) {
    phase.window.padding_before = -a.out;  // a window of one element behind the inputs: padding
    return phase;
  }
  phase.window.kernel = static_cast<std::int64_t>(phase.elements.size());
  phase.window.dilation = a.dilation / std::gcd(a.dilation, a.stride);
  phase.window.padding_before = -(first + a.padding_before - phase.elements[0] * a.dilation) / a.stride;
  return phase;
}

}  // namespace

TransposedConvolution::TransposedConvolution(const ChannelsLastShape& c) : c_(c) {
  const WindowAxis &h = c.window[1], &w = c.window[2];
  const std::int64_t channels = c.groups * c.out, line = w.in * channels;
  for (std::int64_t top = 0; top < std::min(h.stride, h.in); ++top) {
    const PhaseAxis lines = phase_of(h, top);
    for (std::int64_t left = 0; left < std::min(w.stride, w.in); ++left) {
      const PhaseAxis columns = phase_of(w, left);
      ChannelsLastShape shape{{WindowAxis{}, lines.window, columns.window}, c.batch, c.groups, c.in, c.out};
      shape.spread = ResultSteps{top * line + left * channels, h.in * line, h.stride * line, w.stride * channels};
      phases_.push_back({shape, lines.elements, columns.elements});
    }
  }
}

std::int64_t TransposedConvolution::packed_floats() const {
  return std::accumulate(phases_.begin(), phases_.end(), std::int64_t{0},
                         [](std::int64_t sum, const Phase& p) { return sum + panel_floats(p.shape); });
}

std::vector<float> TransposedConvolution::weight_of(const Phase& phase, const float* weight) const {
  const std::int64_t width = c_.window[2].kernel, kernel = c_.window[1].kernel * width;
  const auto taps = static_cast<std::size_t>(cpu::plane(phase.shape.window, &WindowAxis::kernel));
  std::vector<float> part(static_cast<std::size_t>(c_.groups * c_.out * c_.in) * taps);
  auto to = part.begin();
  for (std::int64_t o = 0; o < c_.groups * c_.out; ++o) {
    for (std::int64_t i = 0; i < c_.in; ++i) {
      const float* from = weight + ((o / c_.out * c_.in + i) * c_.out + o % c_.out) * kernel;
      auto next = to;
      for (const std::int64_t h : phase.lines) {
        for (const std::int64_t w : phase.columns) *next++ = from[h * width + w];
      }
      to += static_cast<std::ptrdiff_t>(taps);  // the weights stay zeros if no element reaches the results
    }
  }
  return part;
}

void TransposedConvolution::pack(const float* weight, float* to) const {
  for (const Phase& p : phases_) to = std::ranges::copy(make_panels(p.shape, weight_of(p, weight).data()), to).out;
}

void TransposedConvolution::run(const ChannelsLastOperands& at, const pointwise::BoundEpilogue& finish) const {
  ChannelsLastOperands of_phase = at;
  for (const Phase& p : phases_) {
    convolve(p.shape, of_phase, finish);
    of_phase.panels += panel_floats(p.shape);
    of_phase.upcoming = {};
  }
}

}  // namespace tern::channels_last
