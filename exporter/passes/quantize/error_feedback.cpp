#include "exporter/passes/quantize/error_feedback.h"

#include <tern/linalg.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>

#include "dtypes/convert.h"
#include "exporter/passes/quantize/block_loops.h"
#include "exporter/passes/quantize/scale_search.h"
#include "threads/parallel.h"

namespace tern::quantize {
namespace {

constexpr std::int64_t kFeedbackRows = 64;      // rows of a weight that are rounded together
constexpr std::int64_t kFeedbackColumns = 128;  // columns between two updates of the columns behind them
constexpr std::int64_t kVectorFloats = 16;
constexpr std::int64_t kRowVectors = kFeedbackRows / kVectorFloats;
constexpr int kDampings = 6;  // attempts, each with ten times the damping
// Below this size one thread factors in tenths of a second; threads of LAPACK wait for each other on busy processors.
constexpr std::int64_t kColumnsForThreads = 4096;

using Vector [[gnu::vector_size(64), gnu::aligned(4), gnu::may_alias]] = float;

std::size_t to_index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// Rounds to integers, and gives their codes.
struct IntegerGrid {
  float min = 0, max = 0;

  TERN_INLINE float round(float v, std::uint16_t& code) const {
    constexpr float kRoundingMagic = 0x1.8p23F;
    const float clamped_below = v > min ? v : min, sum = (clamped_below < max ? clamped_below : max) + kRoundingMagic;
    code = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(sum));
    return sum - kRoundingMagic;
  }
};

/// Rounds to the numbers of F.
template <class F>
struct FloatGrid {
  float max = kLargest<F>;

  TERN_INLINE float round(float v, std::uint16_t& code) const {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(v);
    float magnitude = clamp_magnitude(std::bit_cast<float>(bits & kMagnitude), max);
    const std::uint32_t found = round_magnitude<F>(magnitude);
    code = static_cast<std::uint16_t>(found | sign_of<F>(bits));
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | (bits & ~kMagnitude));
  }
};

template <class Use>
void dispatch_grid(DType element, const Use& run_on_grid) {
  switch (element) {
    case DType::i8: return run_on_grid(IntegerGrid{-128, 127});
    case DType::i4: return run_on_grid(IntegerGrid{-8, 7});
    case DType::f4_e2m1: return run_on_grid(FloatGrid<E2M1>{});
    case DType::f6_e2m3: return run_on_grid(FloatGrid<E2M3>{});
    case DType::f6_e3m2: return run_on_grid(FloatGrid<E3M2>{});
    case DType::f8_e5m2: return run_on_grid(FloatGrid<E5M2>{});
    default: return run_on_grid(FloatGrid<E4M3FN>{});
  }
}

/// to[k] -= sum over j of factor[j][k] * errors[j], for four columns k and half of the rows.
TERN_INLINE void subtract_products(const float* __restrict factor, std::int64_t stride, const float* __restrict errors,
                                   std::int64_t count, float* __restrict destination) {
  constexpr int kTile = 4, kHalf = kRowVectors / 2;
  Vector sums[kTile][kHalf];
  for (int k = 0; k < kTile; ++k) {
    for (int v = 0; v < kHalf; ++v)
      sums[k][v] = *reinterpret_cast<const Vector*>(destination + k * kFeedbackRows + v * kVectorFloats);
  }
  for (std::int64_t j = 0; j < count; ++j) {
    const float* const f = factor + j * stride;
    const float* const e = errors + j * kFeedbackRows;
    for (int v = 0; v < kHalf; ++v) {
      const Vector error = *reinterpret_cast<const Vector*>(e + v * kVectorFloats);
      for (int k = 0; k < kTile; ++k) sums[k][v] -= error * f[k];
    }
  }
  for (int k = 0; k < kTile; ++k) {
    for (int v = 0; v < kHalf; ++v)
      *reinterpret_cast<Vector*>(destination + k * kFeedbackRows + v * kVectorFloats) = sums[k][v];
  }
}

/// Adds up one column's product: to -= error * factor.
TERN_INLINE void subtract_product(float factor, const float* __restrict error, float* __restrict destination) {
  for (std::int64_t v = 0; v < kFeedbackRows; v += kVectorFloats) {
    *reinterpret_cast<Vector*>(destination + v) -= *reinterpret_cast<const Vector*>(error + v) * factor;
  }
}

/// Rows of a weight that are rounded together. Arrays hold a column's numbers of all rows one after the other, in the
/// order of rounding.
class FeedbackRows {
 public:
  FeedbackRows(const QuantizedMatrix& layout, const Recipe& recipe, DType type, const FeedbackFactor& factor,
               std::byte* bytes)
      : layout_(layout),
        recipe_(recipe),
        type_(type),
        factor_(factor),
        bytes_(bytes),
        columns_(layout.columns),
        block_(layout.blocks.columns),
        original_(to_index(columns_ * kFeedbackRows)),
        numbers_(to_index(columns_ * kFeedbackRows)),
        scales_(to_index(columns_ / block_ * kFeedbackRows)),
        reciprocals_(scales_.size()),
        codes_(to_index(columns_ * kFeedbackRows)),
        errors_(to_index(kFeedbackColumns * kFeedbackRows)) {}

  /// `rows`: numbers of [count] rows.
  void run(const std::vector<float>& rows, std::int64_t first, std::int64_t count, float outer,
           QuantizationError& error) {
    set_scales(rows, first, count, outer);
    std::ranges::fill(original_, 0.0F);
    for (std::int64_t j = 0; j < columns_; ++j) {
      const std::int64_t column = factor_.order[to_index(j)];
      for (std::int64_t r = 0; r < count; ++r)
        original_[to_index(j * kFeedbackRows + r)] = rows[to_index(r * columns_ + column)];
    }
    numbers_ = original_;
    dispatch_grid(layout_.element, [&](const auto& grid) { round_all(grid); });
    pack(first, count);
    add_errors(count, error);
  }

 private:
  /// Scales of all blocks by the search.
  void set_scales(const std::vector<float>& rows, std::int64_t first, std::int64_t count, float outer) {
    const std::int64_t scale_bytes = layout_.scales().columns * element_size(layout_.blocks.scale);
    std::ranges::fill(scales_, 0.0F);
    std::ranges::fill(reciprocals_, 0.0F);
    std::vector<std::byte> elements(to_index(layout_.row_bytes()));
    QuantizationError unused;
    for (std::int64_t r = 0; r < count; ++r) {
      encode_row({.numbers = reinterpret_cast<const std::uint32_t*>(rows.data() + r * columns_),
                  .columns = columns_,
                  .type = type_,
                  .recipe = recipe_,
                  .importance = factor_.importance.data(),
                  .outer = outer,
                  .elements = elements.data(),
                  .scales = bytes_ + layout_.scale_offset() + (first + r) * scale_bytes,
                  .error = &unused});
      for (std::int64_t b = 0; b < columns_ / block_; ++b) {
        const float scale = block_scale(layout_, bytes_, first + r, b).scale;
        scales_[to_index(b * kFeedbackRows + r)] = scale;
        reciprocals_[to_index(b * kFeedbackRows + r)] = scale == 0 ? 0.0F : 1.0F / scale;
      }
    }
  }

  template <class Grid>
  void round_all(const Grid& grid) {
    for (std::int64_t begin = 0; begin < columns_; begin += kFeedbackColumns) {
      const std::int64_t end = std::min(columns_, begin + kFeedbackColumns);
      run_at_cpu_level([&](auto) __attribute__((always_inline)) {
        for (std::int64_t j = begin; j < end; ++j) {
          const std::int64_t block = factor_.order[to_index(j)] / block_;
          const float* const u = factor_.factor.data() + j * columns_;
          float* const error = errors_.data() + (j - begin) * kFeedbackRows;
          round_column(grid, scales_.data() + block * kFeedbackRows, reciprocals_.data() + block * kFeedbackRows,
                       1.0F / u[j], numbers_.data() + j * kFeedbackRows, codes_.data() + j * kFeedbackRows, error);
          for (std::int64_t k = j + 1; k < end; ++k) subtract_product(u[k], error, numbers_.data() + k * kFeedbackRows);
        }
        correct_behind(begin, end);
      });
    }
  }

  template <class Grid>
  TERN_INLINE static void round_column(const Grid& grid, const float* __restrict scales,
                                       const float* __restrict reciprocals, float factor, float* __restrict numbers,
                                       std::uint16_t* __restrict codes, float* __restrict error) {
    for (std::int64_t r = 0; r < kFeedbackRows; ++r) {
      const float v = numbers[r], y = grid.round(v * reciprocals[r], codes[r]) * scales[r];
      error[r] = (v - y) * factor;
      numbers[r] = y;
    }
  }

  /// Corrects the columns from `end` on by the errors of columns [begin, end).
  TERN_INLINE void correct_behind(std::int64_t begin, std::int64_t end) {
    const float* const u = factor_.factor.data() + begin * columns_;
    std::int64_t k = end;
    for (; k + 4 <= columns_; k += 4) {
      for (std::int64_t first_row_of_half = 0; first_row_of_half < kFeedbackRows;
           first_row_of_half += kFeedbackRows / 2)
        subtract_products(u + k, columns_, errors_.data() + first_row_of_half, end - begin,
                          numbers_.data() + k * kFeedbackRows + first_row_of_half);
    }
    for (; k < columns_; ++k) {
      for (std::int64_t j = begin; j < end; ++j)
        subtract_product(u[(j - begin) * columns_ + k], errors_.data() + (j - begin) * kFeedbackRows,
                         numbers_.data() + k * kFeedbackRows);
    }
  }

  void pack(std::int64_t first, std::int64_t count) {
    std::vector<std::uint16_t> row(to_index(columns_));
    for (std::int64_t r = 0; r < count; ++r) {
      for (std::int64_t j = 0; j < columns_; ++j)
        row[to_index(factor_.order[to_index(j)])] = codes_[to_index(j * kFeedbackRows + r)];
      auto* const destination = reinterpret_cast<std::uint8_t*>(bytes_ + (first + r) * layout_.row_bytes());
      if (elements_per_byte(layout_.element) == 2) {
        pack_nibbles(row.data(), columns_, destination);
      } else {
        pack_bytes(row.data(), columns_, destination);
      }
    }
  }

  void add_errors(std::int64_t count, QuantizationError& error) const {
    for (std::int64_t j = 0; j < columns_; ++j) {
      for (std::int64_t r = 0; r < count; ++r) {
        const double x = static_cast<double>(original_[to_index(j * kFeedbackRows + r)]);
        const double y = static_cast<double>(numbers_[to_index(j * kFeedbackRows + r)]);
        error.add({x * x, y * y, (x - y) * (x - y)});
      }
    }
  }

  const QuantizedMatrix& layout_;
  const Recipe& recipe_;
  DType type_;
  const FeedbackFactor& factor_;
  std::byte* bytes_;
  std::int64_t columns_, block_;
  std::vector<float> original_, numbers_, scales_, reciprocals_;
  std::vector<std::uint16_t> codes_;
  std::vector<float> errors_;
};

}  // namespace

std::optional<FeedbackFactor> feedback_factor(std::span<const float> moments, std::int64_t n, double damping) {
  if (!std::ranges::all_of(moments, [](float v) { return std::isfinite(v); })) return std::nullopt;
  FeedbackFactor f;
  f.importance.resize(to_index(n));
  double mean = 0;
  for (std::int64_t j = 0; j < n; ++j)
    mean += static_cast<double>(f.importance[to_index(j)] = moments[to_index(j * n + j)]);
  mean /= static_cast<double>(n);
  if (!(mean > 0)) return std::nullopt;
  f.order.resize(to_index(n));
  std::iota(f.order.begin(), f.order.end(), 0);
  std::ranges::stable_sort(
      f.order, [&](std::int32_t a, std::int32_t b) { return f.importance[to_index(a)] > f.importance[to_index(b)]; });
  const int threads = n < kColumnsForThreads ? 1 : 0;
  // Reversed columns give L L^T = H. R = L in reverse order is upper triangular, H = R R^T, and U = R^-1.
  Tensor reversed(DType::f32, {n, n}), identity(DType::f32, {n, n});
  std::ranges::fill(identity.span<float>(), 0.0F);
  for (std::int64_t j = 0; j < n; ++j) identity.span<float>()[to_index(j * n + j)] = 1;
  for (int attempt = 0; attempt < kDampings; ++attempt, damping *= 10) {
    float* const destination = reversed.span<float>().data();
    for (std::int64_t i = 0; i < n; ++i) {
      const float* const source = moments.data() + f.order[to_index(n - 1 - i)] * n;
      for (std::int64_t j = 0; j < n; ++j) destination[i * n + j] = source[f.order[to_index(n - 1 - j)]];
      destination[i * n + i] = static_cast<float>(static_cast<double>(destination[i * n + i]) + damping * mean);
    }
    const linalg::CholeskyResult lower = linalg::cholesky_ex(reversed, {.threads = threads});
    if (lower.info.span<const std::int32_t>()[0] != 0) continue;
    const Tensor inverse = linalg::triangular_solve(lower.factor, identity, {.threads = threads});
    const std::span<const float> values = inverse.span<const float>();
    if (!std::ranges::all_of(values, [](float v) { return std::isfinite(v); })) continue;
    f.factor.assign(values.rbegin(), values.rend());  // reverses both axes
    return f;
  }
  return std::nullopt;
}

Quantized quantize_with_feedback(const FloatMatrix& m, const Recipe& recipe, const FeedbackFactor& factor) {
  Quantized q = quantize(m, recipe, factor.importance);
  if (!std::isfinite(q.error.xx) || !std::isfinite(q.error.noise)) return q;
  const QuantizedMatrix layout{recipe.format->element, m.rows, m.columns, q.blocks};
  float outer = 0;
  if (q.blocks.outer) std::memcpy(&outer, q.bytes.data() + layout.outer_offset(), sizeof outer);
  FeedbackFactor scaled = factor;
  scaled.importance = importance_factors(factor.importance, m.columns);
  q.error = {};
  std::mutex mutex;
  const std::int64_t row_blocks = (m.rows + kFeedbackRows - 1) / kFeedbackRows;
  parallel_for(row_blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    FeedbackRows together(layout, recipe, m.type, scaled, q.bytes.data());
    std::vector<float> rows(to_index(kFeedbackRows * m.columns));
    QuantizationError error;
    for (std::int64_t row_block = begin; row_block < end; ++row_block) {
      const std::int64_t first = row_block * kFeedbackRows, count = std::min(kFeedbackRows, m.rows - first);
      read_rows(m, first, count, rows.data());
      together.run(rows, first, count, outer, error);
    }
    const std::lock_guard lock(mutex);
    q.error.add(error);
  });
  return q;
}

}  // namespace tern::quantize
