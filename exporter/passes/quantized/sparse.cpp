#include "exporter/passes/quantized/sparse.h"

#include <array>
#include <atomic>

#include "dtypes/convert.h"
#include "threads/parallel.h"

namespace tern::quantized {
namespace {

constexpr std::int64_t kBlock = 4, kKept = 2;
constexpr std::int64_t kGrain = 1 << 14;

/// The places of the two elements to keep, in ascending order; false where more than two are not zero. Where fewer are
/// not, the first zeros are kept.
bool places_of(const float* x, std::array<int, kKept>& places) {
  std::array<bool, kBlock> keep{};
  int count = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    keep[i] = x[i] != 0;
    count += keep[i] ? 1 : 0;
  }
  if (count > kKept) return false;
  for (std::size_t i = 0; i < kBlock && count < kKept; ++i) {
    count += keep[i] ? 0 : 1;
    keep[i] = true;
  }
  std::size_t at = 0;
  for (int i = 0; i < kBlock; ++i) {
    if (keep[static_cast<std::size_t>(i)]) places[at++] = i;
  }
  return true;
}

}  // namespace

std::optional<Fitted> fit_two_of_four(const WeightMatrix& n) {
  Fitted f{n.type, two_of_four(), {}};
  const QuantizedMatrix m{f.element, n.rows, n.columns, f.blocks};
  if (!is_sparse_element(n.type) || n.values.empty() || n.columns % f.blocks.divisor() != 0) return std::nullopt;
  f.bytes.resize(static_cast<std::size_t>(m.bytes()));
  std::atomic<bool> good = true;
  parallel_for(n.rows, std::max<std::int64_t>(1, kGrain / n.columns), [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> kept(static_cast<std::size_t>(n.columns / kBlock * kKept));
    for (std::int64_t r = begin; r < end && good; ++r) {
      const float* const x = &n.values[static_cast<std::size_t>(r * n.columns)];
      auto* const places = reinterpret_cast<std::uint8_t*>(f.bytes.data()) + m.place_offset() + r * m.place_row_bytes();
      for (std::int64_t b = 0; b < n.columns / kBlock; ++b) {
        std::array<int, kKept> at{};
        if (!places_of(x + b * kBlock, at)) {
          good = false;
          return;
        }
        for (std::size_t i = 0; i < kKept; ++i) kept[static_cast<std::size_t>(b * kKept) + i] = x[b * kBlock + at[i]];
        places[b / 2] |= static_cast<std::uint8_t>((at[0] | at[1] << 2) << (b % 2 * 4));
      }
      convert(kept.data(), DType::f32, f.bytes.data() + r * m.row_bytes(), n.type, std::ssize(kept));
    }
  });
  if (!good) return std::nullopt;
  return f;
}

}  // namespace tern::quantized
