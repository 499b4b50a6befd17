#include "exporter/passes/quantized/fit.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <span>

#include "dtypes/convert.h"
#include "threads/parallel.h"

namespace tern::quantized {
namespace {

constexpr int kLargest = 255;           // widest range of 8-bit elements, the limit of all types
constexpr std::int64_t kTrialRows = 4;  // rows tried before all others

struct Grid {
  std::int64_t rows, columns;  ///< sizes of a block
};

/// Blocks of equal size; nothing if they do not divide the columns.
std::optional<Grid> grid_of(const WeightMatrix& n, const PerBlock& s) {
  if (s.rows < 1 || s.columns < 1 || n.columns % s.columns != 0) return std::nullopt;
  const std::int64_t rows = (n.rows + s.rows - 1) / s.rows;
  if ((n.rows + rows - 1) / rows != s.rows) return std::nullopt;
  return Grid{rows, n.columns / s.columns};
}

/// Rounds to the type of the numbers.
void round_to(DType type, float* values, std::int64_t count) {
  if (type == DType::f32) return;
  std::vector<std::byte> narrowed(static_cast<std::size_t>(count * element_size(type)));
  convert(values, DType::f32, narrowed.data(), type, count);
  convert(narrowed.data(), type, values, DType::f32, count);
}
float rounded(DType type, float value) {
  round_to(type, &value, 1);
  return value;
}

/// Computes each row's elements as integers, one block row at a time.
class IntegerCodes {
 public:
  IntegerCodes(const WeightMatrix& n, const PerBlock& scales, const PerBlock* zeros, ZeroPoint kind, Grid grid)
      : n_(n), scales_(scales), zeros_(zeros), kind_(kind), grid_(grid), codes_(n.values.size()) {}

  /// False for a number without an exact integer element.
  bool find() {
    if (!rows(0, std::min(n_.rows, kTrialRows))) return false;
    std::atomic<bool> is_exact = true;
    parallel_for(n_.rows, std::max<std::int64_t>(1, (1 << 14) / n_.columns), [&](std::int64_t begin, std::int64_t end) {
      if (is_exact && !rows(begin, end)) is_exact = false;
    });
    return is_exact;
  }
  const std::vector<std::int16_t>& codes() const { return codes_; }

 private:
  float number(float q, float s, float z) const {
    switch (kind_) {
      case ZeroPoint::subtracted: return (q - z) * s;
      case ZeroPoint::added: return q * s + z;
      default: return q * s;
    }
  }
  float element(float w, float s, float z) const {
    switch (kind_) {
      case ZeroPoint::subtracted: return w / s + z;
      case ZeroPoint::added: return (w - z) / s;
      default: return w / s;
    }
  }

  bool rows(std::int64_t begin, std::int64_t end) {
    std::vector<float> result(static_cast<std::size_t>(n_.columns));
    for (std::int64_t r = begin; r < end; ++r) {
      const float* w = &n_.values[static_cast<std::size_t>(r * n_.columns)];
      std::int16_t* q = &codes_[static_cast<std::size_t>(r * n_.columns)];
      for (std::int64_t c = 0; c < n_.columns; ++c) {
        const float s = block_value(scales_, r, c), z = zeros_ == nullptr ? 0 : block_value(*zeros_, r, c);
        const float e = s == 0 ? 0.0F : std::nearbyint(element(w[c], s, z));
        if (!(std::fabs(e) <= kLargest)) return false;
        q[c] = static_cast<std::int16_t>(e);
        result[static_cast<std::size_t>(c)] = number(e, s, z);
      }
      round_to(n_.type, result.data(), n_.columns);
      for (std::int64_t c = 0; c < n_.columns; ++c) {
        if (result[static_cast<std::size_t>(c)] != w[c] && !neighbour(r, c, w[c], q + c)) return false;
      }
    }
    return true;
  }

  /// The division was rounded.
  bool neighbour(std::int64_t r, std::int64_t c, float w, std::int16_t* q) const {
    const float s = block_value(scales_, r, c), z = zeros_ == nullptr ? 0 : block_value(*zeros_, r, c);
    for (const int step : {-1, 1}) {
      const int shifted_code = *q + step;
      if (std::abs(shifted_code) <= kLargest && rounded(n_.type, number(static_cast<float>(shifted_code), s, z)) == w) {
        *q = static_cast<std::int16_t>(shifted_code);
        return true;
      }
    }
    return false;
  }

  float block_value(const PerBlock& p, std::int64_t r, std::int64_t c) const {
    return p.values[static_cast<std::size_t>(r / grid_.rows * p.columns + c / grid_.columns)];
  }

  const WeightMatrix& n_;
  const PerBlock& scales_;
  const PerBlock* zeros_;
  ZeroPoint kind_;
  Grid grid_;
  std::vector<std::int16_t> codes_;
};

/// Range of an element type.
struct ElementRange {
  DType type;
  int min, max;
};
constexpr ElementRange kElementRanges[] = {
    {DType::i2, -2, 1}, {DType::i4, -8, 7}, {DType::i8, -128, 127}, {DType::u8, 0, 255}};

/// Integers of the fewest bits that hold all codes, with each block's zero point added. Blocks end with a byte.
std::optional<ElementRange> range_for(const std::vector<int>& lower, const std::vector<int>& upper, std::int64_t block,
                                      bool with_zeros) {
  for (const ElementRange& range : kElementRanges) {
    if (block % elements_per_byte(range.type) != 0) continue;
    bool range_fits = true;
    for (std::size_t b = 0; b < lower.size() && range_fits; ++b)
      range_fits = with_zeros ? upper[b] - lower[b] <= range.max - range.min && range.type != DType::u8
                              : lower[b] >= range.min && upper[b] <= range.max;
    if (range_fits) return range;
  }
  return std::nullopt;
}

void pack(const std::vector<std::int16_t>& codes, DType type, std::byte* destination) {
  const int per = elements_per_byte(type), bits = 8 / per, mask = (1 << bits) - 1;
  for (std::size_t i = 0; i < codes.size(); i += static_cast<std::size_t>(per)) {
    int byte = 0;
    for (int k = 0; k < per; ++k) byte |= (codes[i + static_cast<std::size_t>(k)] & mask) << (k * bits);
    *destination++ = static_cast<std::byte>(byte);
  }
}

/// Allocates the value, with its scales and zero points.
Fitted laid_out(const WeightMatrix& n, const PerBlock& scales, Grid grid, DType element, Blocks blocks,
                const std::vector<float>* zeros) {
  blocks.columns = static_cast<std::int32_t>(grid.columns);
  blocks.rows = static_cast<std::int32_t>(grid.rows);
  blocks.scale = scales.type;
  Fitted f{element, blocks, {}};
  const QuantizedMatrix m{element, n.rows, n.columns, blocks};
  f.bytes.resize(static_cast<std::size_t>(m.bytes()));
  convert(scales.values.data(), DType::f32, f.bytes.data() + m.scale_offset(), scales.type, std::ssize(scales.values));
  if (zeros != nullptr)
    convert(zeros->data(), DType::f32, f.bytes.data() + m.zero_offset(), blocks.zero, std::ssize(*zeros));
  return f;
}

bool sizes_fit(Grid grid) {
  constexpr std::int64_t kMaxGridAxis = 1 << 30;
  return grid.rows <= kMaxGridAxis && grid.columns <= kMaxGridAxis;
}

/// Small floats: each number is the scale times the nearest element.
std::optional<Fitted> fit_floats(const WeightMatrix& n, const PerBlock& scales, Grid grid, DType type) {
  if (grid.columns % elements_per_byte(type) != 0) return std::nullopt;
  Fitted f = laid_out(n, scales, grid, type, {}, nullptr);
  const std::int64_t row_bytes = n.columns / elements_per_byte(type);
  const auto rows = [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> result(static_cast<std::size_t>(n.columns));
    for (std::int64_t r = begin; r < end; ++r) {
      const float* w = &n.values[static_cast<std::size_t>(r * n.columns)];
      const float* s = &scales.values[static_cast<std::size_t>(r / grid.rows * scales.columns)];
      for (std::int64_t c = 0; c < n.columns; ++c) {
        const float scale = s[c / grid.columns];
        result[static_cast<std::size_t>(c)] = scale == 0 ? 0.0F : w[c] / scale;
      }
      std::byte* row_bytes_begin = f.bytes.data() + r * row_bytes;
      convert(result.data(), DType::f32, row_bytes_begin, type, n.columns);
      convert(row_bytes_begin, type, result.data(), DType::f32, n.columns);
      for (std::int64_t c = 0; c < n.columns; ++c) result[static_cast<std::size_t>(c)] *= s[c / grid.columns];
      round_to(n.type, result.data(), n.columns);
      for (std::int64_t c = 0; c < n.columns; ++c) {
        if (result[static_cast<std::size_t>(c)] != w[c]) return false;
      }
    }
    return true;
  };
  if (!rows(0, std::min(n.rows, kTrialRows))) return std::nullopt;
  std::atomic<bool> is_exact = true;
  parallel_for(n.rows, std::max<std::int64_t>(1, (1 << 14) / n.columns), [&](std::int64_t begin, std::int64_t end) {
    if (is_exact && !rows(begin, end)) is_exact = false;
  });
  if (!is_exact) return std::nullopt;
  return f;
}

}  // namespace

std::optional<Fitted> fit(const WeightMatrix& matrix, const PerBlock& scales) {
  const std::optional<Grid> grid = grid_of(matrix, scales);
  if (!grid || !sizes_fit(*grid) || matrix.values.empty()) return std::nullopt;
  IntegerCodes found(matrix, scales, nullptr, ZeroPoint::none, *grid);
  if (!found.find()) {
    for (const DType type : {DType::f4_e2m1, DType::f6_e2m3, DType::f6_e3m2, DType::f8_e4m3fn, DType::f8_e5m2}) {
      if (auto floats = fit_floats(matrix, scales, *grid, type)) return floats;
    }
    return std::nullopt;
  }
  std::vector<std::int16_t> codes = found.codes();
  std::vector<int> lower(scales.values.size(), kLargest), upper(scales.values.size(), -kLargest);
  const auto block_of = [&](std::int64_t i) {
    return static_cast<std::size_t>(i / matrix.columns / grid->rows * scales.columns +
                                    i % matrix.columns / grid->columns);
  };
  for (std::int64_t i = 0; i < std::ssize(codes); ++i) {
    const std::size_t b = block_of(i);
    lower[b] = std::min<int>(lower[b], codes[static_cast<std::size_t>(i)]);
    upper[b] = std::max<int>(upper[b], codes[static_cast<std::size_t>(i)]);
  }
  const std::optional<ElementRange> unshifted = range_for(lower, upper, grid->columns, false),
                                    shifted = range_for(lower, upper, grid->columns, true);
  const auto bits = [](const std::optional<ElementRange>& r) { return r ? 8 / elements_per_byte(r->type) : 16; };
  Fitted f;
  if (unshifted && bits(unshifted) <= bits(shifted)) {
    f = laid_out(matrix, scales, *grid, unshifted->type, {}, nullptr);
  } else if (shifted) {
    // Takes the zero point nearest to 0 that makes a block fit.
    std::vector<float> zeros(scales.values.size());
    for (std::size_t b = 0; b < zeros.size(); ++b)
      zeros[b] = static_cast<float>(std::clamp(0, shifted->min - lower[b], shifted->max - upper[b]));
    for (const float z : zeros) {
      if (z < -128 || z > 127) return std::nullopt;
    }
    for (std::int64_t i = 0; i < std::ssize(codes); ++i)
      codes[static_cast<std::size_t>(i)] =
          static_cast<std::int16_t>(codes[static_cast<std::size_t>(i)] + static_cast<std::int16_t>(zeros[block_of(i)]));
    f = laid_out(matrix, scales, *grid, shifted->type, {.zero_point = ZeroPoint::subtracted, .zero = DType::i8},
                 &zeros);
  } else {
    return std::nullopt;
  }
  pack(codes, f.element, f.bytes.data());
  return f;
}

std::optional<std::vector<std::int8_t>> fit_bytes(const WeightMatrix& matrix, const PerBlock& scales) {
  const std::optional<Grid> grid = grid_of(matrix, scales);
  if (!grid || matrix.values.empty() || scales.columns != 1 || (scales.rows != 1 && grid->rows != 1))
    return std::nullopt;
  IntegerCodes found(matrix, scales, nullptr, ZeroPoint::none, *grid);
  if (!found.find()) return std::nullopt;
  std::vector<std::int8_t> bytes(found.codes().size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::int16_t code = found.codes()[i];
    if (code < -128 || code > 127) return std::nullopt;
    bytes[i] = static_cast<std::int8_t>(code);
  }
  return bytes;
}

namespace {

/// Zero points of elements lowered by 8: four bits then represent 0 to 15.
PerBlock lowered(const PerBlock& zeros) {
  PerBlock low = zeros;
  for (float& z : low.values) z -= 8;
  std::vector<float> retained = low.values;
  round_to(low.type, retained.data(), std::ssize(retained));
  if (retained != low.values) low.type = DType::f32;
  return low;
}

std::optional<Fitted> fit(const WeightMatrix& matrix, const PerBlock& scales, const PerBlock& zeros, Grid grid,
                          ZeroPoint kind, std::span<const ElementRange> ranges) {
  IntegerCodes found(matrix, scales, &zeros, kind, grid);
  if (!found.find()) return std::nullopt;
  const auto [lower, upper] = std::ranges::minmax(found.codes());
  for (const ElementRange& range : ranges) {
    if (lower < range.min || upper > range.max || grid.columns % elements_per_byte(range.type) != 0) continue;
    Fitted f = laid_out(matrix, scales, grid, range.type, {.zero_point = kind, .zero = zeros.type}, &zeros.values);
    pack(found.codes(), range.type, f.bytes.data());
    return f;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Fitted> fit(const WeightMatrix& matrix, const PerBlock& scales, const PerBlock& zeros) {
  const std::optional<Grid> grid = grid_of(matrix, scales);
  if (!grid || !sizes_fit(*grid) || matrix.values.empty() || zeros.rows != scales.rows ||
      zeros.columns != scales.columns)
    return std::nullopt;
  const std::span<const ElementRange> all_ranges = kElementRanges, four_bits = all_ranges.first(2);
  for (const ZeroPoint kind : {ZeroPoint::subtracted, ZeroPoint::added}) {
    if (auto f = fit(matrix, scales, zeros, *grid, kind, four_bits)) return f;
  }
  if (auto f = fit(matrix, scales, lowered(zeros), *grid, ZeroPoint::subtracted, four_bits)) return f;
  for (const ZeroPoint kind : {ZeroPoint::subtracted, ZeroPoint::added}) {
    if (auto f = fit(matrix, scales, zeros, *grid, kind, all_ranges)) return f;
  }
  return std::nullopt;
}

}  // namespace tern::quantized
