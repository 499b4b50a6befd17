// torchao's integers with a scale and a zero point for each block (torchao/quantization/quant_primitives.py).
#include <fmt/format.h>
#include <tern/error.h>

#include "exporter/subclasses/families.h"

namespace tern::subclasses {
namespace {

/// x [a, b, ..] as [a / block, block, b / block, block, ..].
ValueId split_blocks(Builder& b, ValueId x, const std::vector<std::int64_t>& block) {
  Dims sizes;
  for (std::size_t i = 0; i < block.size(); ++i) {
    sizes.push_back(b.pool().floordiv(b.size(x, static_cast<std::int64_t>(i)), block[i]));
    sizes.emplace_back(block[i]);
  }
  return b.reshape(x, sizes);
}

}  // namespace

ValueId dequantize_affine(Builder& b, const QuantizedTensor& q) {
  const DType dtype = q.tensor->dtype;
  const ValueId data = q.value("qdata");
  const Dims shape(b.shape(data));
  std::vector<std::int64_t> block;
  const pt2::PickledAttribute& sizes = q.attribute("block_size");
  for (std::size_t i = 0; i < sizes.items.size(); ++i) {
    std::int64_t size = sizes.items[i].integer;
    if (size == -1 && i < shape.size() && shape[i].is_const()) size = shape[i].value();
    if (size < 1) fail(ErrorCode::bad_file, fmt::format("a block has {} elements", size));
    block.push_back(size);
  }
  if (block.size() != shape.size()) fail(ErrorCode::bad_file, "block_size must have one number for each axis");
  // Shapes scales for blocks as [blocks, 1, blocks, 1, ..].
  Dims scales;
  for (std::size_t i = 0; i < block.size(); ++i) {
    scales.push_back(b.pool().floordiv(shape[i], block[i]));
    scales.emplace_back(1);
  }
  ValueId x = b.cast(split_blocks(b, data, block), dtype);
  if (const ValueId zero = q.value_or_none("zero_point"); zero != kNoValue)
    x = b.expr("x - z", {{"x", x}, {"z", b.cast(b.reshape(zero, scales), dtype)}}, dtype);
  const ValueId scale = b.reshape(q.value("scale"), scales);
  const DType common = promote(dtype, b.dtype(scale));
  return b.reshape(b.cast(b.expr("x * s", {{"x", x}, {"s", scale}}, common), dtype), shape);
}

ValueId dequantize_float8(Builder& b, const QuantizedTensor& q) {
  const ValueId data = q.value("qdata");
  const Dims shape(b.shape(data));
  ValueId scale = q.value("scale");
  if (b.numel(scale) == Dim(1)) {
    scale = b.reshape(scale, {});
  } else if (b.rank(scale) == b.rank(data)) {
    // Repeats each scale over its block.
    Dims split, unsplit;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const Dim count = b.shape(scale)[i];
      if (count.is(0)) fail(ErrorCode::bad_file, "an axis has no scales");
      split.push_back(count);
      split.push_back(b.pool().floordiv(shape[i], count));
      unsplit.push_back(count);
      unsplit.emplace_back(1);
    }
    scale = b.reshape(b.expand(b.reshape(scale, unsplit), split), shape);
  } else {
    fail(ErrorCode::bad_file, "the scales and the elements must have the same number of axes");
  }
  return b.expr("x * s", {{"x", data}, {"s", scale}}, DType::f32, q.tensor->dtype);
}

}  // namespace tern::subclasses
