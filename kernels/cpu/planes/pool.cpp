#include "kernels/cpu/planes/pool.h"

#include <limits>

#include "kernels/cpu/scratch.h"

namespace tern::planes {
namespace {

constexpr std::int64_t kBand = 4 << 10;      // floats
constexpr std::int64_t kPoolMostStride = 4;  // larger strides gain nothing: windows are mostly disjoint
constexpr std::int64_t kFewTaps = 9;         // largest window reduced directly, not row by row
constexpr std::size_t kPaddedSlot = 2, kLinesSlot = 3, kPoolResultSlot = 4;

}  // namespace

bool is_plane_pool(const cpu::Window& window) {
  const auto& [d, h, w] = window;
  // Another kernel handles window elements outside every position's reach.
  if (h.kernel > h.in + 2 * h.padding_before || w.kernel > w.in + 2 * w.padding_before) return false;
  return h.stride <= kPoolMostStride && w.stride <= kPoolMostStride && has_bands(window, 1);
}

Pooling::Pooling(const cpu::Window& window, bool max)
    : loops_(plane_loops()), h_(window[1]), w_(window[2]), max_(max), bands_(bands_of(h_, w_, 1, kBand, 1)) {
  const PaddedPlaneLayout& l = bands_.layout;
  const std::int64_t floats = bands_.channel + kMostTogether * kSlack;
  padded_ = thread_buffer<float>(static_cast<std::size_t>(floats), kPaddedSlot);
  std::fill_n(padded_, floats, max_ ? -std::numeric_limits<float>::infinity() : 0.0F);
  const std::int64_t result = bands_.positions(bands_.rows, w_.out) + kMostTogether * kSlack;
  result_ = thread_buffer<float>(static_cast<std::size_t>(result), kPoolResultSlot);
  // The first row's maximum wins over equal elements below, as in a row-by-row scan of the window.
  if (max_ && h_.kernel * w_.kernel > kFewTaps) {
    cpu::WindowAxis row = h_;
    row.kernel = 1;
    taps_ = taps_of(bands_, row, w_, 1);
    const std::int64_t line = l.rows * l.pitch;
    for (std::int64_t i = 0; i < h_.kernel; ++i) {
      const std::int64_t at = i * h_.dilation;
      vertical_.push_back(at % h_.stride * line + at / h_.stride * l.pitch);
    }
    lines_ = thread_buffer<float>(static_cast<std::size_t>(l.phases_h * line + kMostTogether * kSlack), kLinesSlot);
  } else {
    taps_ = taps_of(bands_, h_, w_, 1);
  }
}

void Pooling::run(const float* x, float* y) {
  const PaddedPlaneLayout& l = bands_.layout;
  const auto taps = static_cast<std::int64_t>(taps_.size());
  for (std::int64_t top = 0; top < h_.out; top += bands_.rows) {
    const std::int64_t rows = std::min(bands_.rows, h_.out - top), n = bands_.positions(rows, w_.out);
    loops_.load(l, x, top * h_.stride, max_ ? -std::numeric_limits<float>::infinity() : 0.0F, padded_);
    if (!vertical_.empty()) {
      const std::int64_t line = l.rows * l.pitch;
      for (std::int64_t p = 0; p < l.phases_h; ++p)
        loops_.max(padded_ + p * l.phases_w * l.phase, taps_.data(), taps, line, lines_ + p * line);
      loops_.max(lines_, vertical_.data(), h_.kernel, n, result_);
    } else {
      (max_ ? loops_.max : loops_.add)(padded_, taps_.data(), taps, n, result_);
    }
    loops_.store(result_, l.pitch, w_.out, rows, y + top * w_.out);
  }
}

}  // namespace tern::planes
