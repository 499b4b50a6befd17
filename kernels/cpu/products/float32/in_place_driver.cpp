#include "kernels/cpu/products/float32/in_place_driver.h"

#include <algorithm>
#include <span>
#include <vector>

#include "dtypes/convert.h"
#include "kernels/cpu/products/block_quantized/driver.h"
#include "kernels/cpu/products/float32/in_place_microkernel.h"
#include "kernels/cpu/products/tiles/tiles.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern {
namespace in_place_product {

const MicroKernels& micro_kernels() {
  static const auto kernels = best_loops<MicroKernels>(set_levels);
  return kernels;
}

const MicroKernels* pair_kernels() {
  static const auto kernels = best_loops<MicroKernels>(set_pairs_levels);
  return kernels.rows > 0 ? &kernels : nullptr;
}

}  // namespace in_place_product

namespace {

using in_place_product::kBlockRow;
using in_place_product::kMostDotRows;
using in_place_product::kMostRows;
using in_place_product::kMostWidth;
using in_place_product::kStripsTogether;
using in_place_product::micro_kernels;
using in_place_product::MicroKernels;
using in_place_product::pair_kernels;
using in_place_product::WeightLoops;
using tiles::IndexRange;

constexpr std::int64_t kRowsAtATime = 256;                // of x
constexpr std::int64_t kInPlaceFewRows = 8;               // rows of x, for which its panels would be mostly empty
constexpr std::int64_t kSecondCache = 768 << 10;          // bytes of it for panels
constexpr std::int64_t kInPlaceThreadProducts = 1 << 17;  // multiplications
constexpr std::int64_t kFromMemory = 2 << 20;             // bytes of w that the second caches have not kept
constexpr std::int64_t kWideDepth = 1024;                 // columns of w that are widened at a time
constexpr std::size_t kWideSlot = 6, kPanelSlot = 7;

std::int64_t grain(std::int64_t cost) {
  return (kInPlaceThreadProducts + cost - 1) / cost;
}

/// Neighbouring rows of x, side by side.
struct InPlaceDriverPanel {
  std::int64_t row = 0;  ///< the first
  int count = 0, kind = 0, width = 0;
};

/// Full panels, then one that holds the rest with the fewest lanes left over.
std::vector<InPlaceDriverPanel> panels_of(IndexRange rows, const MicroKernels& kernels) {
  std::vector<InPlaceDriverPanel> panels;
  for (std::int64_t row = rows.begin; row < rows.end;) {
    int kind = 0;
    while (kind < 2 && kernels.widths[kind + 1] >= rows.end - row) ++kind;
    const int width = kernels.widths[kind];
    panels.push_back({row, static_cast<int>(std::min<std::int64_t>(width, rows.end - row)), kind, width});
    row += width;
  }
  return panels;
}

/// Elements of w, as they lie or widened.
struct InPlaceWeight {
  const void* data = nullptr;
  std::int64_t row = 0;
  DType type = DType::f32;
  const QuantizedMatrix* quantized = nullptr;
  const void* element(std::int64_t n, std::int64_t k) const {
    return static_cast<const std::byte*>(data) + (n * row + k) * element_size(type);
  }
};

/// Calls f with the loops for weights of this type. False where there are none: such a weight is widened first.
template <class F>
bool visit_loops(const MicroKernels& kernels, DType type, const F& f) {
  switch (type) {
    case DType::f32: f(kernels.f32); return true;
    case DType::f16: f(kernels.f16); return true;
    case DType::bf16: f(kernels.bf16); return true;
    case DType::i8: f(kernels.i8); return true;
    case DType::u8: f(kernels.u8); return true;
    case DType::f8_e4m3fn: f(kernels.f8_e4m3fn); return true;
    case DType::f8_e5m2: f(kernels.f8_e5m2); return true;
    default: return false;
  }
}

void widen(const void* from, DType type, float* to, std::int64_t count) {
  bool done = false;
  visit_loops(micro_kernels(), type, [&]<class W>(const WeightLoops<W>& loops) {
    if (loops.widen == nullptr) return;
    loops.widen(static_cast<const W*>(from), count, to);
    done = true;
  });
  if (!done) convert(from, type, to, DType::f32, count);
}

/// `rows` times `depth` elements of w as float32, which are `w` itself or lie in this thread's buffer.
InPlaceWeight widened(const InPlaceWeight& w, IndexRange rows, IndexRange depth) {
  if (w.type == DType::f32 && w.quantized == nullptr) return {w.element(rows.begin, depth.begin), w.row, DType::f32};
  const std::int64_t row = (depth.size() + 15) / 16 * 16 + 16;  // an odd number of cache lines would do as well
  auto* to = thread_buffer<float>(static_cast<std::size_t>(rows.size() * row), kWideSlot);
  if (w.quantized != nullptr) {
    for (std::int64_t n = 0; n < rows.size(); ++n)
      block_quantized::numbers_of_row(*w.quantized, static_cast<const std::byte*>(w.data), rows.begin + n, depth.begin,
                                      depth.size(), to + n * row);
    return {to, row, DType::f32};
  }
  for (std::int64_t n = 0; n < rows.size(); ++n)
    widen(w.element(rows.begin + n, depth.begin), w.type, to + n * row, depth.size());
  return {to, row, DType::f32};
}

/// Rows of w in a strip. Rows that are multiples of half a page apart share places of the first cache, which has room
/// for eight of them, or fewer.
int strip_rows(const LinearShape& s, DType type, const MicroKernels& kernels) {
  const bool collide = type == DType::f32 && s.w_row * static_cast<std::int64_t>(sizeof(float)) % 2048 == 0;
  return collide ? std::min(kernels.rows, 6) : kernels.rows;
}

/// The epilogue of some rows and columns of y, while they are in a cache.
void finish(const LinearShape& s, const LinearOperands& o, IndexRange rows, IndexRange columns) {
  if (o.finish.epilogue == nullptr) return;
  const std::int64_t first = rows.begin * s.n + columns.begin;
  o.finish.apply(o.y + first, s.n, rows.size(), columns.size(), first, s.n);
}

std::int64_t width_of(std::span<const InPlaceDriverPanel> panels) {
  std::int64_t width = 0;
  for (const InPlaceDriverPanel& p : panels) width += p.width;
  return width;
}

/// Elements of k whose panels, all of them, fit the second cache. It decides which sums are added first: threads that
/// share the panels have the same.
std::int64_t depth_for(const LinearShape& s, DType type, std::span<const InPlaceDriverPanel> panels) {
  const std::int64_t depth =
      std::min(s.k, std::max<std::int64_t>(256, kSecondCache / 4 / width_of(panels) / 256 * 256));
  return type == DType::f32 ? depth : std::min(depth, kWideDepth);
}

/// The work of a thread: some panels of x with some strips of w.
class InPlaceDriverPart {
 public:
  InPlaceDriverPart(const MicroKernels& kernels, const LinearShape& s, const LinearOperands& o, std::int64_t depth,
                    std::span<const InPlaceDriverPanel> panels, IndexRange strips)
      : kernels_(kernels),
        s_(s),
        o_(o),
        panels_(panels),
        strips_(strips),
        depth_(depth),
        packed_(thread_buffer<float>(static_cast<std::size_t>(width_of(panels_) * depth), kPanelSlot)) {}

  void run() const {
    for (std::int64_t k = 0; k < s_.k; k += depth_) {
      const IndexRange depth{k, std::min(s_.k, k + depth_)};
      float* to = packed_;
      for (const InPlaceDriverPanel& p : panels_) {
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
  void multiply(IndexRange rows, IndexRange depth) const {
    const InPlaceWeight w = widened({o_.weight, s_.w_row, o_.type, o_.quantized}, rows, depth);
    const float* panel = packed_;
    alignas(64) float tile[kMostRows * kMostWidth], block[kMostWidth * kBlockRow];
    static constexpr float kZeros[kStripsTogether * kMostRows] = {};
    const float* bias = depth.begin > 0 ? nullptr : o_.bias != nullptr ? o_.bias + rows.begin : kZeros;
    for (const InPlaceDriverPanel& p : panels_) {
      for (std::int64_t n = rows.begin; n < rows.end; n += height_) {
        const auto count = static_cast<int>(std::min<std::int64_t>(height_, rows.end - n));
        kernels_.tile[p.kind][count - 1](static_cast<const float*>(w.element(n - rows.begin, 0)), w.row, panel,
                                         depth.size(), tile);
        kernels_.transpose(tile, p.width, count, block + (n - rows.begin));
      }
      kernels_.store(block, p.count, rows.size(), bias, o_.y + p.row * s_.n + rows.begin, s_.n);
      panel += p.width * depth.size();
    }
    if (depth.end == s_.k) finish(s_, o_, {panels_.front().row, panels_.back().row + panels_.back().count}, rows);
  }

  const MicroKernels& kernels_;
  const LinearShape& s_;
  const LinearOperands& o_;
  std::span<const InPlaceDriverPanel> panels_;
  IndexRange strips_;
  std::int64_t height_ = strip_rows(s_, o_.type, kernels_), depth_;
  float* packed_;
};

constexpr std::int64_t kFloat = sizeof(float);

/// Strips go to threads; where there are too few, some panels of x with all strips.
void multiply_panels(const MicroKernels& kernels, const LinearShape& s, const LinearOperands& o, IndexRange rows) {
  const std::vector<InPlaceDriverPanel> all = panels_of(rows, kernels);
  const std::span<const InPlaceDriverPanel> panels = all;
  const std::int64_t height = strip_rows(s, o.type, kernels), strips = (s.n + height - 1) / height,
                     count = std::ssize(panels), depth = depth_for(s, o.type, panels);
  if (strips >= count) {
    parallel_for(
        strips, grain(height * s.k * rows.size()),
        [&](std::int64_t begin, std::int64_t end) {
          InPlaceDriverPart(kernels, s, o, depth, panels, {begin, end}).run();
        },
        rows.size() * s.k * kFloat);
  } else {
    parallel_for(
        count, grain(s.n * s.k * kernels.widths[0]),
        [&](std::int64_t begin, std::int64_t end) {
          const auto some = panels.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
          InPlaceDriverPart(kernels, s, o, depth, some, {0, strips}).run();
        },
        s.n * s.k * element_size(o.type));
  }
}

/// y[:, j..j + 4) for rows [i, i + count) of x; the last rows of w may be fewer than four. `w` is row j.
template <class W>
void four_columns(const LinearShape& s, const LinearOperands& o, const WeightLoops<W>& loops, std::int64_t i,
                  std::int64_t count, std::int64_t j, const W* w, std::int64_t w_row) {
  const auto dots = loops.dots[count - 1];
  const std::int64_t columns = std::min<std::int64_t>(4, s.n - j);
  const float* x = o.x + i * s.x_row;
  float sums[4 * kMostDotRows];
  if (columns == 4) {
    dots(x, s.x_row, w, w_row, s.k, sums);
  } else {
    for (std::int64_t q = 0; q < columns; ++q) {  // four times the same row
      float same[4 * kMostDotRows];
      dots(x, s.x_row, w + q * w_row, 0, s.k, same);
      for (std::int64_t r = 0; r < count; ++r) sums[r * 4 + q] = same[r * 4];
    }
  }
  for (std::int64_t r = 0; r < count; ++r) {
    for (std::int64_t q = 0; q < columns; ++q)
      o.y[(i + r) * s.n + j + q] = sums[r * 4 + q] + (o.bias == nullptr ? 0.0F : o.bias[j + q]);
  }
}

/// The same for all rows of x, in the type that w has, or widened first where there are no loops for it.
void four_columns(const MicroKernels& kernels, const LinearShape& s, const LinearOperands& o, std::int64_t j) {
  const auto all_rows = [&]<class W>(const WeightLoops<W>& loops, const void* w, std::int64_t w_row) {
    for (std::int64_t i = 0; i < s.m; i += kernels.dot_rows)
      four_columns(s, o, loops, i, std::min<std::int64_t>(kernels.dot_rows, s.m - i), j, static_cast<const W*>(w),
                   w_row);
  };
  const InPlaceWeight w{o.weight, s.w_row, o.type};
  if (visit_loops(kernels, o.type, [&](const auto& loops) { all_rows(loops, w.element(j, 0), w.row); })) return;
  const InPlaceWeight wide = widened(w, {j, std::min(s.n, j + 4)}, {0, s.k});
  all_rows(kernels.f32, wide.data, wide.row);
}

/// Memory comes sooner where a core reads two places of it in turn, each from end to end. Intel's processors fetch
/// ahead by themselves, within a page, where lines are asked for shortly before: on two cores 45 GB/s, and 33 where one
/// place is read or lines are asked for pages ahead. Others were faster with pages ahead.
std::ptrdiff_t bytes_ahead() {
  return cpu_features().is_intel ? 1 << 10 : 16 << 10;
}

/// Columns of y for one row of x, from two halves of these rows of w in turn. Returns the first column that is left.
template <class W>
std::int64_t from_memory(const LinearShape& s, const LinearOperands& o, const WeightLoops<W>& loops,
                         IndexRange columns) {
  const std::int64_t half = columns.size() / 4 * 2;
  const auto* w = static_cast<const W*>(o.weight) + columns.begin * s.w_row;
  for (std::int64_t j = 0; j < half; j += 2) {
    float sums[4];
    loops.streams(o.x, w + j * s.w_row, w + (half + j) * s.w_row, s.w_row, s.k, bytes_ahead(), sums);
    for (std::int64_t q = 0; q < 4; ++q) {
      const std::int64_t column = columns.begin + j + q % 2 + q / 2 * half;
      o.y[column] = sums[q] + (o.bias == nullptr ? 0.0F : o.bias[column]);
    }
  }
  return columns.begin + 2 * half;
}

std::int64_t from_memory(const MicroKernels& kernels, const LinearShape& s, const LinearOperands& o,
                         IndexRange columns) {
  if (s.m > 1 || s.n * s.k * element_size(o.type) < kFromMemory) return columns.begin;
  std::int64_t left = columns.begin;
  visit_loops(kernels, o.type, [&](const auto& loops) { left = from_memory(s, o, loops, columns); });
  return left;
}

/// Every row of w is read from memory once.
void multiply_rows(const MicroKernels& kernels, const LinearShape& s, const LinearOperands& o) {
  parallel_for((s.n + 3) / 4, grain(4 * s.k * s.m), [&](std::int64_t begin, std::int64_t end) {
    const IndexRange columns{begin * 4, std::min(s.n, end * 4)};
    for (std::int64_t j = from_memory(kernels, s, o, columns); j < columns.end; j += 4) four_columns(kernels, s, o, j);
    finish(s, o, {0, s.m}, columns);
  });
}

}  // namespace

bool is_narrow_float(DType t) {
  return is_floating(t) && t != DType::f32 && t != DType::f64 && t != DType::f4_e2m1;
}

bool is_narrow(DType t) {
  return is_narrow_float(t) || t == DType::i8 || t == DType::u8;
}

bool multiplies_bf16(const LinearShape& s) {
  return s.k % 2 == 0 && s.x_row % 2 == 0 && s.w_row % 2 == 0 && pair_kernels() != nullptr;
}

void linear(const LinearShape& s, const LinearOperands& o) {
  if (s.m <= kInPlaceFewRows) return multiply_rows(micro_kernels(), s, o);
  for (std::int64_t m = 0; m < s.m; m += kRowsAtATime)
    multiply_panels(micro_kernels(), s, o, {m, std::min(s.m, m + kRowsAtATime)});
}

void linear(const LinearShape& s, const Bf16Operands& o) {
  LinearShape pairs = s;
  for (std::int64_t* size : {&pairs.k, &pairs.x_row, &pairs.w_row}) *size /= 2;
  const LinearOperands pair_operands{reinterpret_cast<const float*>(o.x), o.weight, o.bias, o.y, {}};
  if (s.m <= kInPlaceFewRows) return multiply_rows(*pair_kernels(), pairs, pair_operands);
  for (std::int64_t m = 0; m < s.m; m += kRowsAtATime)
    multiply_panels(*pair_kernels(), pairs, pair_operands, {m, std::min(s.m, m + kRowsAtATime)});
}

}  // namespace tern
