#include "kernels/cpu/channels_last/resize.h"

#include <algorithm>
#include <vector>

#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern::channels_last {
namespace {

using Table = cpu::ResizeTable<float>;

/// Caches the most recent lines of an image, resized along the columns.
class ResizedLines {
 public:
  ResizedLines(const Table& lines, const Table& columns, std::int64_t channels)
      : columns_(columns),
        channels_(channels),
        cached_lines_(static_cast<std::size_t>(lines.taps), -1),
        length_(columns.out * channels),
        buffer_(thread_buffer<float>(static_cast<std::size_t>(lines.taps * length_), 0)) {}

  std::int64_t length() const { return length_; }
  void begin(const float* image) {
    image_ = image;
    std::ranges::fill(cached_lines_, -1);
  }
  const float* line(std::int64_t i) {
    if (columns_.identity) return source(i);
    const auto slot = static_cast<std::size_t>(i) % cached_lines_.size();
    float* to = buffer_ + static_cast<std::int64_t>(slot) * length_;
    if (cached_lines_[slot] != i) compute_line(i, to);
    cached_lines_[slot] = i;
    return to;
  }
  void compute_line(std::int64_t i, float* to) const {
    if (columns_.identity) {
      std::copy_n(source(i), length_, to);
    } else {
      cpu::apply(columns_, source(i), 1, channels_, to);
    }
  }

 private:
  const float* source(std::int64_t i) const { return image_ + i * columns_.in * channels_; }

  const Table& columns_;
  std::int64_t channels_;
  std::vector<std::int64_t> cached_lines_;  ///< line number in each slot
  std::int64_t length_;
  float* buffer_;
  const float* image_ = nullptr;
};

}  // namespace

void resize(const Table& lines, const Table& columns, std::int64_t batch, std::int64_t channels, const float* x,
            float* y) {
  const std::int64_t image = lines.in * columns.in * channels;
  parallel_for(batch * lines.out, grain_for(columns.out * channels), [&](std::int64_t begin, std::int64_t end) {
    ResizedLines of(lines, columns, channels);
    const std::int64_t length = of.length();
    for (std::int64_t at = begin; at < end; ++at) {
      const std::int64_t i = at % lines.out;
      if (at == begin || i == 0) of.begin(x + at / lines.out * image);
      const std::int64_t* index = lines.index.data() + i * lines.taps;
      float* to = y + at * length;
      if (lines.identity) {
        of.compute_line(i, to);
      } else if (lines.taps > 1) {
        cpu::weighted_sum([&](std::int64_t k) { return of.line(index[k]); }, lines.weight.data() + i * lines.taps,
                          lines.taps, length, to);
      } else if (at > begin && i > 0 && index[0] == index[-1]) {
        std::copy_n(to - length, length, to);
      } else {
        of.compute_line(index[0], to);
      }
    }
  });
}

}  // namespace tern::channels_last
