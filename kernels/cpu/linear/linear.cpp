#include "kernels/cpu/linear/linear.h"

#include <algorithm>
#include <vector>

#include "dtypes/cpu_level.h"
#include "kernels/cpu/linear/micro.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/scratch.h"

namespace tern {
namespace linear_micro {

const MicroKernels& micro_kernels() {
  static const MicroKernels kernels = [] {
    MicroKernels k;
    set_baseline(&k);
#if TERN_X86_LEVELS
    const CpuLevel level = cpu_level();
    if (level == CpuLevel::avx2) set_avx2(&k);
    if (level == CpuLevel::avx512) set_avx512(&k);
#endif
    return k;
  }();
  return kernels;
}

}  // namespace linear_micro

namespace {

using linear_micro::FourDots;
using linear_micro::kMostDotRows;
using linear_micro::kMostRows;
using linear_micro::kMostWidth;
using linear_micro::micro_kernels;
using linear_micro::MicroKernels;

constexpr std::int64_t kRowsAtATime = 256;        // of x
constexpr std::int64_t kFewRows = 8;              // of x, for which its panels would be mostly empty
constexpr std::int64_t kSecondCache = 768 << 10;  // bytes of it for panels
constexpr std::int64_t kStripsTogether = 8;       // whose results fill whole cache lines of y
constexpr std::int64_t kWorthAThread = 1 << 17;   // multiplications
constexpr std::size_t kPanelSlot = 7;

struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

std::int64_t grain(std::int64_t cost) {
  return (kWorthAThread + cost - 1) / cost;
}

/// Neighbouring rows of x, side by side.
struct Panel {
  std::int64_t row = 0;  ///< the first
  int count = 0, kind = 0, width = 0;
};

/// Full panels, then those that hold the rest with the fewest lanes left over.
std::vector<Panel> panels_of(Range rows, const MicroKernels& kernels) {
  std::vector<Panel> panels;
  for (std::int64_t row = rows.begin; row < rows.end;) {
    int kind = 0;
    while (kind < 2 && kernels.widths[kind + 1] >= rows.end - row) ++kind;
    const int width = kernels.widths[kind];
    panels.push_back({row, static_cast<int>(std::min<std::int64_t>(width, rows.end - row)), kind, width});
    row += width;
  }
  return panels;
}

/// Rows of w in a strip. Rows that are multiples of half a page apart share places of the first cache, which has room
/// for eight of them, or fewer.
int strip_rows(const LinearShape& s, const MicroKernels& kernels) {
  const bool collide = s.w_row * static_cast<std::int64_t>(sizeof(float)) % 2048 == 0;
  return collide ? std::min(kernels.rows, 6) : kernels.rows;
}

/// The epilogue of some rows and columns of y, while they are in a cache.
void finish(const LinearShape& s, const LinearOperands& o, Range rows, Range columns) {
  if (o.finish.epilogue == nullptr) return;
  const std::int64_t first = rows.begin * s.n + columns.begin;
  o.finish.apply(o.y + first, s.n, rows.size(), columns.size(), first, s.n);
}

/// What one thread does: some rows of x with some strips of w.
class Part {
 public:
  Part(const LinearShape& s, const LinearOperands& o, Range rows, Range strips)
      : s_(s), o_(o), panels_(panels_of(rows, kernels_)), strips_(strips) {
    for (const Panel& p : panels_) width_ += p.width;
    depth_ = std::min(s.k, std::max<std::int64_t>(256, kSecondCache / 4 / width_ / 256 * 256));
    packed_ = thread_buffer<float>(static_cast<std::size_t>(width_ * depth_), kPanelSlot);
  }

  void run() const {
    for (std::int64_t k = 0; k < s_.k; k += depth_) {
      const Range depth{k, std::min(s_.k, k + depth_)};
      float* to = packed_;
      for (const Panel& p : panels_) {
        kernels_.pack(o_.x + p.row * s_.x_row + k, s_.x_row, p.count, depth.size(), p.width, to);
        to += p.width * depth.size();
      }
      for (std::int64_t i = strips_.begin; i < strips_.end; i += kStripsTogether) {
        multiply({i * height_, std::min(s_.n, std::min(strips_.end, i + kStripsTogether) * height_)}, depth);
      }
    }
  }

 private:
  /// The products of `depth` of neighbouring strips with all panels.
  void multiply(Range rows, Range depth) const {
    const float* w = o_.weight + depth.begin;
    const float* panel = packed_;
    for (const Panel& p : panels_) {
      for (std::int64_t n = rows.begin; n < rows.end; n += height_) {
        const auto count = static_cast<int>(std::min<std::int64_t>(height_, rows.end - n));
        alignas(64) float tile[kMostRows * kMostWidth];
        kernels_.tile[p.kind][count - 1](w + n * s_.w_row, s_.w_row, panel, depth.size(), tile);
        static constexpr float kZeros[kMostRows] = {};
        const float* bias = depth.begin > 0 ? nullptr : o_.bias != nullptr ? o_.bias + n : kZeros;
        kernels_.store(tile, p.width, count, p.count, bias, o_.y + p.row * s_.n + n, s_.n);
      }
      panel += p.width * depth.size();
    }
    if (depth.end == s_.k) finish(s_, o_, {panels_.front().row, panels_.back().row + panels_.back().count}, rows);
  }

  const LinearShape& s_;
  const LinearOperands& o_;
  const MicroKernels& kernels_ = micro_kernels();
  std::vector<Panel> panels_;
  Range strips_;
  std::int64_t height_ = strip_rows(s_, kernels_), width_ = 0, depth_ = 0;
  float* packed_ = nullptr;
};

/// Strips go to threads; where there are too few, some rows of x with all strips.
void by_panels(const LinearShape& s, const LinearOperands& o, Range rows) {
  const MicroKernels& kernels = micro_kernels();
  const std::int64_t height = strip_rows(s, kernels), strips = (s.n + height - 1) / height, width = kernels.widths[0],
                     panels = (rows.size() + width - 1) / width;
  if (strips >= panels) {
    parallel_for(strips, grain(height * s.k * rows.size()), [&](std::int64_t begin, std::int64_t end) {
      Part(s, o, rows, {begin, end}).run();
    });
  } else {
    parallel_for(panels, grain(s.n * s.k * width), [&](std::int64_t begin, std::int64_t end) {
      Part(s, o, {rows.begin + begin * width, std::min(rows.end, rows.begin + end * width)}, {0, strips}).run();
    });
  }
}

/// y[:, j..j + 4) for rows [i, i + count) of x; the last rows of w may be fewer than four.
void four_columns(const LinearShape& s, const LinearOperands& o, std::int64_t i, std::int64_t count, std::int64_t j) {
  const FourDots dots = micro_kernels().four_dots[count - 1];
  const std::int64_t columns = std::min<std::int64_t>(4, s.n - j);
  const float *x = o.x + i * s.x_row, *w = o.weight + j * s.w_row;
  float sums[4 * kMostDotRows];
  if (columns == 4) {
    dots(x, s.x_row, w, s.w_row, s.k, sums);
  } else {
    for (std::int64_t q = 0; q < columns; ++q) {  // four times the same row
      float same[4 * kMostDotRows];
      dots(x, s.x_row, w + q * s.w_row, 0, s.k, same);
      for (std::int64_t r = 0; r < count; ++r) sums[r * 4 + q] = same[r * 4];
    }
  }
  for (std::int64_t r = 0; r < count; ++r) {
    for (std::int64_t q = 0; q < columns; ++q)
      o.y[(i + r) * s.n + j + q] = sums[r * 4 + q] + (o.bias == nullptr ? 0.0F : o.bias[j + q]);
  }
}

/// Every row of w is read from memory once.
void by_dots(const LinearShape& s, const LinearOperands& o) {
  const std::int64_t together = micro_kernels().dot_rows;
  parallel_for((s.n + 3) / 4, grain(4 * s.k * s.m), [&](std::int64_t begin, std::int64_t end) {
    const Range columns{begin * 4, std::min(s.n, end * 4)};
    for (std::int64_t j = columns.begin; j < columns.end; j += 4) {
      for (std::int64_t i = 0; i < s.m; i += together) four_columns(s, o, i, std::min(together, s.m - i), j);
    }
    finish(s, o, {0, s.m}, columns);
  });
}

}  // namespace

void linear(const LinearShape& s, const LinearOperands& o) {
  if (s.m <= kFewRows) return by_dots(s, o);
  for (std::int64_t m = 0; m < s.m; m += kRowsAtATime) by_panels(s, o, {m, std::min(s.m, m + kRowsAtATime)});
}

}  // namespace tern
