#include <algorithm>

#include "kernels/cpu/channels_last/loops.h"
#include "kernels/cpu/channels_last/pool.h"
#include "kernels/cpu/channels_last/share.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::channels_last {
namespace {

constexpr std::int64_t kMeanTogether = 64;  // positions per partial sum
constexpr std::int64_t kFewestInRun = 24, kMostRuns = 32;
constexpr std::int64_t kDear = 4;  // additions per read of an element from another core's cache
constexpr std::size_t kRunSlot = 5, kSumSlot = 6;

/// Runs of positions are summed separately and then added: the bits do not depend on threads, and chains of rounding
/// stay short.
struct PositionRuns {
  std::int64_t positions, channels, count;

  PositionRuns(std::int64_t positions_, std::int64_t channels_)
      : positions(positions_),
        channels(channels_),
        count(std::clamp<std::int64_t>(positions_ / kFewestInRun, 1, kMostRuns)) {}

  /// Computes to [n] = the sums of channels [first, first + n) over run `run` of the image at `x`.
  void sum(const float* x, std::int64_t run, std::int64_t first, std::int64_t n, float* to) const {
    const std::int64_t end = (run + 1) * positions / count;
    auto* buffer = thread_buffer<float>(static_cast<std::size_t>(3 * n), kSumSlot);
    float *total = buffer, *next = buffer + n, *ones = buffer + 2 * n;
    std::fill_n(total, n, 0.0F);
    std::fill_n(ones, n, 1.0F);
    std::ptrdiff_t taps[kMeanTogether];
    const std::ptrdiff_t same[kMeanTogether] = {};
    for (std::int64_t t = 0; t < kMeanTogether; ++t) taps[t] = t * channels;
    for (std::int64_t at = run * positions / count; at < end; at += kMeanTogether) {
      const std::int64_t together = std::min(kMeanTogether, end - at);
      loops().depthwise({x + at * channels + first, 0, taps, together, n, 1, next, 0}, ones, same, total);
      std::swap(total, next);
    }
    std::copy_n(total, n, to);
  }

  /// Computes y [n] = the mean from the sums of all runs, `step` apart.
  void finish(const float* sums, std::int64_t step, std::int64_t n, float* y) const {
    std::copy_n(sums, n, y);
    for (std::int64_t r = 1; r < count; ++r) {
      for (std::int64_t c = 0; c < n; ++c) y[c] += sums[r * step + c];
    }
    for (std::int64_t c = 0; c < n; ++c) y[c] /= static_cast<float>(positions);
  }
};

void by_runs(std::int64_t batch, const PositionRuns& runs, const float* x, float* y) {
  const std::int64_t all = batch * runs.count, channels = runs.channels;
  auto* sums = thread_buffer<float>(static_cast<std::size_t>(all * channels), kRunSlot);
  // Transfers between caches count as kDear additions, for the read and for the next write of a line: even a small
  // image is read by the threads that wrote the image.
  const std::int64_t cost = kDear * (runs.positions / runs.count * channels);
  parallel_for(all, grain_for(cost), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      runs.sum(x + i / runs.count * runs.positions * channels, i % runs.count, 0, channels, sums + i * channels);
  });
  for (std::int64_t n = 0; n < batch; ++n)
    runs.finish(sums + n * runs.count * channels, channels, channels, y + n * channels);
}

void by_channels(std::int64_t batch, const PositionRuns& runs, const float* x, float* y) {
  for_channels(runs.channels, grain_for(batch * runs.positions * kUnit), [&](std::int64_t first, std::int64_t n) {
    auto* sums = thread_buffer<float>(static_cast<std::size_t>(runs.count * n), kRunSlot);
    for (std::int64_t image = 0; image < batch; ++image) {
      for (std::int64_t r = 0; r < runs.count; ++r)
        runs.sum(x + image * runs.positions * runs.channels, r, first, n, sums + r * n);
      runs.finish(sums, n, n, y + image * runs.channels + first);
    }
  });
}

}  // namespace

void mean(std::int64_t batch, std::int64_t lines, std::int64_t width, std::int64_t channels, const float* x, float* y) {
  const PositionRuns runs(lines * width, channels);
  (share_lines(batch * lines, channels) ? by_runs : by_channels)(batch, runs, x, y);
}

}  // namespace tern::channels_last
