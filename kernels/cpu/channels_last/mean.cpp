#include <algorithm>

#include "kernels/cpu/channels_last/loops.h"
#include "kernels/cpu/channels_last/pool.h"
#include "kernels/cpu/channels_last/share.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::channels_last {
namespace {

constexpr std::int64_t kPositionsPerSum = 64;  // positions per call of the depthwise loop
constexpr std::int64_t kMinRunPositions = 24, kMaxRuns = 32;
constexpr std::int64_t kReadCost = 4;              // cost of reading an element from another core's cache, in additions
constexpr std::size_t kRunSlot = 5, kSumSlot = 6;  // slots of thread_buffer

/// Division of an image's positions into runs, which are summed separately and then added: the bits do not depend on
/// threads, and rounding errors stay small.
struct PositionRuns {
  std::int64_t positions, channels, count;

  PositionRuns(std::int64_t positions_, std::int64_t channels_)
      : positions(positions_),
        channels(channels_),
        count(std::clamp<std::int64_t>(positions_ / kMinRunPositions, 1, kMaxRuns)) {}

  /// Computes to [n] = the sums of channels [first, first + n) over run `run` of the image at `x`.
  void sum(const float* x, std::int64_t run, std::int64_t first, std::int64_t n, float* sums) const {
    const std::int64_t end = (run + 1) * positions / count;
    auto* buffer = thread_buffer<float>(static_cast<std::size_t>(3 * n), kSumSlot);
    float *total = buffer, *new_total = buffer + n, *ones = buffer + 2 * n;
    std::fill_n(total, n, 0.0F);
    std::fill_n(ones, n, 1.0F);
    std::ptrdiff_t taps[kPositionsPerSum];
    const std::ptrdiff_t zero_taps[kPositionsPerSum] = {};
    for (std::int64_t t = 0; t < kPositionsPerSum; ++t) taps[t] = t * channels;
    for (std::int64_t position = run * positions / count; position < end; position += kPositionsPerSum) {
      const std::int64_t tap_count = std::min(kPositionsPerSum, end - position);
      loops().depthwise({x + position * channels + first, 0, taps, tap_count, n, 1, new_total, 0}, ones, zero_taps,
                        total);
      std::swap(total, new_total);
    }
    std::copy_n(total, n, sums);
  }

  /// Computes y [n] = the mean from the sums of all runs, `run_stride` apart.
  void finish(const float* sums, std::int64_t run_stride, std::int64_t n, float* y) const {
    std::copy_n(sums, n, y);
    for (std::int64_t r = 1; r < count; ++r) {
      for (std::int64_t c = 0; c < n; ++c) y[c] += sums[r * run_stride + c];
    }
    for (std::int64_t c = 0; c < n; ++c) y[c] /= static_cast<float>(positions);
  }
};

/// Threads divide the runs of all images.
void mean_by_runs(std::int64_t batch, const PositionRuns& runs, const float* x, float* y) {
  const std::int64_t run_count = batch * runs.count, channels = runs.channels;
  auto* sums = thread_buffer<float>(static_cast<std::size_t>(run_count * channels), kRunSlot);
  // Transfers between caches count as kDear additions, for the read and for the next write of a line: even a small
  // image is read by the threads that wrote the image.
  const std::int64_t cost = kReadCost * (runs.positions / runs.count * channels);
  parallel_for(run_count, grain_for(cost), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      runs.sum(x + i / runs.count * runs.positions * channels, i % runs.count, 0, channels, sums + i * channels);
  });
  for (std::int64_t image = 0; image < batch; ++image)
    runs.finish(sums + image * runs.count * channels, channels, channels, y + image * channels);
}

/// Threads divide the channels.
void mean_by_channels(std::int64_t batch, const PositionRuns& runs, const float* x, float* y) {
  parallel_channels(runs.channels, grain_for(batch * runs.positions * kUnit), [&](std::int64_t first, std::int64_t n) {
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
  (share_lines(batch * lines, channels) ? mean_by_runs : mean_by_channels)(batch, runs, x, y);
}

}  // namespace tern::channels_last
