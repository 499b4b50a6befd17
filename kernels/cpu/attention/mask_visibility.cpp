#include "kernels/cpu/attention/mask_visibility.h"

#include <algorithm>
#include <limits>

namespace tern::cpu {
namespace {

struct MaskRows {
  const std::byte* data;
  std::int64_t rows, columns, row_step, column_step;  ///< steps in elements
};

Visibility visibility_of_flags(const MaskRows& m) {
  bool any = false, all = true;
  for (std::int64_t r = 0; r < m.rows && (all || !any); ++r) {
    const auto* row = reinterpret_cast<const std::uint8_t*>(m.data) + r * m.row_step;
    std::uint8_t some = 0, every = 1;
    if (m.column_step == 1) {  // a loop for compilers to vectorize
      for (std::int64_t i = 0; i < m.columns; ++i) {
        some |= row[i];
        every &= row[i];
      }
    } else {
      for (std::int64_t i = 0; i < m.columns; ++i) {
        some |= row[i * m.column_step];
        every &= row[i * m.column_step];
      }
    }
    any = any || some != 0;
    all = all && every != 0;
  }
  return !any ? Visibility::none : all ? Visibility::all : Visibility::mixed;
}

Visibility visibility_of_floats(const MaskRows& m) {
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  for (std::int64_t r = 0; r < m.rows; ++r) {
    const auto* row = reinterpret_cast<const float*>(m.data) + r * m.row_step;
    bool any = false;
    for (std::int64_t i = 0; i < m.columns; ++i) any |= row[i * m.column_step] != kHidden;
    if (any) return Visibility::mixed;
  }
  return Visibility::none;
}

}  // namespace

Visibility mask_visibility(const TensorView& mask, std::int64_t offset, const ScoreBlock& block) {
  const int r = mask.rank;
  MaskRows m{};
  m.row_step = mask.size(r - 2) == 1 ? 0 : mask.stride(r - 2);
  m.column_step = mask.size(r - 1) == 1 ? 0 : mask.stride(r - 1);
  m.rows = m.row_step == 0 ? 1 : block.queries;
  m.columns = m.column_step == 0 ? 1 : block.keys;
  m.data = mask.data +
           (offset + block.first_query * m.row_step + block.first_key * m.column_step) * element_size(mask.dtype);
  if (mask.dtype == DType::boolean) return visibility_of_flags(m);
  return mask.dtype == DType::f32 ? visibility_of_floats(m) : Visibility::mixed;
}

}  // namespace tern::cpu
