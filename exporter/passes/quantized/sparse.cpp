#include "exporter/passes/quantized/sparse.h"

#include <array>
#include <atomic>

#include "dtypes/convert.h"
#include "threads/parallel.h"

namespace tern::quantized {
namespace {

constexpr std::int64_t kBlock = 4, kNonzeros = 2;
constexpr std::int64_t kGrain = 1 << 14;

/// The places of the two elements to keep, in ascending order; false where more than two are not zero. Where fewer are
/// not, the first zeros are kept.
bool find_nonzeros(const float* x, std::array<int, kNonzeros>& positions) {
  std::array<bool, kBlock> is_kept{};
  int count = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    is_kept[i] = x[i] != 0;
    count += is_kept[i] ? 1 : 0;
  }
  if (count > kNonzeros) return false;
  for (std::size_t i = 0; i < kBlock && count < kNonzeros; ++i) {
    count += is_kept[i] ? 0 : 1;
    is_kept[i] = true;
  }
  std::size_t index = 0;
  for (int i = 0; i < kBlock; ++i) {
    if (is_kept[static_cast<std::size_t>(i)]) positions[index++] = i;
  }
  return true;
}

}  // namespace

std::optional<Fitted> fit_two_of_four(const WeightMatrix& n) {
  Fitted f{n.type, two_of_four(), {}};
  const QuantizedMatrix m{f.element, n.rows, n.columns, f.blocks};
  if (!is_sparse_element(n.type) || n.values.empty() || n.columns % f.blocks.divisor() != 0) return std::nullopt;
  f.bytes.resize(static_cast<std::size_t>(m.bytes()));
  std::atomic<bool> is_sparse = true;
  parallel_for(n.rows, std::max<std::int64_t>(1, kGrain / n.columns), [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> retained(static_cast<std::size_t>(n.columns / kBlock * kNonzeros));
    for (std::int64_t r = begin; r < end && is_sparse; ++r) {
      const float* const x = &n.values[static_cast<std::size_t>(r * n.columns)];
      auto* const positions =
          reinterpret_cast<std::uint8_t*>(f.bytes.data()) + m.place_offset() + r * m.place_row_bytes();
      for (std::int64_t b = 0; b < n.columns / kBlock; ++b) {
        std::array<int, kNonzeros> nonzero_positions{};
        if (!find_nonzeros(x + b * kBlock, nonzero_positions)) {
          is_sparse = false;
          return;
        }
        for (std::size_t i = 0; i < kNonzeros; ++i)
          retained[static_cast<std::size_t>(b * kNonzeros) + i] = x[b * kBlock + nonzero_positions[i]];
        positions[b / 2] |=
            static_cast<std::uint8_t>((nonzero_positions[0] | nonzero_positions[1] << 2) << (b % 2 * 4));
      }
      convert(retained.data(), DType::f32, f.bytes.data() + r * m.row_bytes(), n.type, std::ssize(retained));
    }
  });
  if (!is_sparse) return std::nullopt;
  return f;
}

}  // namespace tern::quantized
