#include "exporter/passes/quantized/candidates.h"

#include <algorithm>

#include "exporter/passes/quantized/numbers.h"

namespace tern::quantized {
namespace {

constexpr std::int64_t kLeastBlock = 8;      // elements: smaller blocks save nothing
constexpr std::size_t kMostCandidates = 12;  // each may cost a pass over the weight for every type of elements

/// Sizes other than 1.
std::vector<std::int64_t> sizes_of(const TensorType& t) {
  std::vector<std::int64_t> sizes;
  for (Dim d : t.shape) {
    if (!d.is_const()) return {-1};
    if (d.value() != 1) sizes.push_back(d.value());
  }
  return sizes;
}

struct BlockGridShape {
  std::int64_t rows, columns;
  bool is_transposed;  ///< the value has the blocks' columns first, in each plane
  std::int64_t planes = 1;
};

/// Possible block grids of a value with these sizes: one number, one per row, rows by groups, groups by rows.
std::vector<BlockGridShape> block_grids(const std::vector<std::int64_t>& sizes, WeightSizes w) {
  std::vector<BlockGridShape> found;
  const auto add = [&](std::int64_t rows, std::int64_t columns, bool by_columns, std::int64_t planes = 1) {
    if (rows < 1 || columns < 1 || w.columns % columns != 0) return;
    const std::int64_t height = (w.rows + rows - 1) / rows;
    if ((w.rows + height - 1) / height != rows || height * (w.columns / columns) < kLeastBlock) return;
    found.push_back({rows, columns, by_columns, planes});
  };
  if (sizes.empty()) {
    add(1, 1, false);
  } else if (sizes.size() == 1) {
    if (sizes[0] % w.rows == 0) add(w.rows, sizes[0] / w.rows, false);
    if (sizes[0] % w.rows == 0 && sizes[0] != w.rows) add(w.rows, sizes[0] / w.rows, true);
    if (w.rows == 1 || sizes[0] < w.rows) add(1, sizes[0], false);
  } else if (sizes.size() == 2) {
    add(sizes[0], sizes[1], false);
    if (sizes[0] != sizes[1]) add(sizes[1], sizes[0], true);
  }
  if (w.planes > 1 && sizes.size() > 1 && sizes[0] == w.planes) {
    // Grids: a number for each row, groups of rows, or groups that come first in each matrix.
    if (sizes.size() == 2) add(sizes[0] * sizes[1], 1, false);
    if (sizes.size() == 3) add(sizes[0] * sizes[1], sizes[2], false);
    if (sizes.size() == 3) add(sizes[0] * sizes[2], sizes[1], true, w.planes);
  }
  return found;
}

PerBlock arranged(const std::vector<float>& values, DType type, BlockGridShape s) {
  PerBlock p{values, type, s.rows, s.columns};
  if (!s.is_transposed) return p;
  const std::int64_t rows = s.rows / s.planes;  // rows of a plane
  for (std::int64_t r = 0; r < s.rows; ++r) {
    for (std::int64_t c = 0; c < s.columns; ++c)
      p.values[static_cast<std::size_t>(r * s.columns + c)] =
          values[static_cast<std::size_t>((r / rows * s.columns + c) * rows + r % rows)];
  }
  return p;
}

}  // namespace

std::vector<PerBlock> scale_candidates(const Program& program, const Function& function, const ConstantPart& constants,
                                       const ConstantSlice& slice, WeightSizes weight) {
  std::vector<ValueId> values;
  for (const FunctionInput& input : function.inputs) {
    if (input.kind == FunctionInput::Kind::state && std::ranges::binary_search(slice.states, input.state))
      values.push_back(input.value);
  }
  for (std::size_t i : slice.nodes) {
    for (ValueId v : function.nodes[i].outputs) {
      if (v != kNoValue) values.push_back(v);
    }
  }
  std::vector<PerBlock> found;
  for (ValueId v : values) {
    const TensorType& t = function.values[static_cast<std::size_t>(v)].type;
    if (t.quantized() || !is_quantized_scale(t.dtype) || found.size() >= kMostCandidates) continue;
    const std::vector<BlockGridShape> grids = block_grids(sizes_of(t), weight);
    if (grids.empty()) continue;
    std::vector<float> numbers;
    const ConstantSlice scale_slice = constants.slice(v);
    if (constants.producer(v) >= 0 && scale_slice.nodes.empty()) continue;
    if (!constants.evaluate(v, scale_slice, [&](const Tensor& value) { numbers = numbers_of(value); })) continue;
    for (const BlockGridShape& s : grids) {
      PerBlock p = arranged(numbers, t.dtype, s);
      const bool known = std::ranges::any_of(
          found, [&](const PerBlock& f) { return f.rows == p.rows && f.columns == p.columns && f.values == p.values; });
      if (!known) found.push_back(std::move(p));
    }
  }
  std::ranges::stable_sort(found, {}, [](const PerBlock& p) { return element_size(p.type); });
  return found;
}

}  // namespace tern::quantized
