// torchao's NVFP4Tensor: float4 elements in blocks of 16 with a float8_e4m3fn scale each, and at most one float32 scale
// above them (torchao/prototype/mx_formats/nvfp4_tensor.py).
#include <fmt/format.h>
#include <tern/error.h>

#include "exporter/microscaling/narrow_floats.h"
#include "exporter/microscaling/scale_tiles.h"
#include "exporter/subclasses/families.h"

namespace tern::subclasses {
namespace {

constexpr double kMinScale = 0.015625;  // the smallest normal float8_e4m3fn

/// Converts float4 codes, two per byte with the first in the lower bits, to float32: [.., n] becomes [.., 2 n].
ValueId widen_float4(Builder& b, ValueId packed) {
  Dims shape(b.shape(packed));
  shape.back() = b.pool().mul(shape.back(), 2);
  const ValueId pairs = b.concat({b.expr("p & 15", {{"p", b.unsqueeze(packed, -1)}}, DType::i64, DType::u8),
                                  b.expr("p >> 4", {{"p", b.unsqueeze(packed, -1)}}, DType::i64, DType::u8)},
                                 -1);
  // Twice the number is an integer.
  const ValueId doubled = b.expr("m = c & 7; v = m < 4 ? m : m < 6 ? 2 * m - 4 : 4 * m - 16; c > 7 ? 0 - v : v",
                                 {{"c", b.reshape(pairs, shape)}}, DType::i64, DType::i8);
  return b.expr("x * 0.5", {{"x", doubled}}, DType::f32);
}

/// Elements times block scales, and times the tensor's own scale if `with_tensor_scale`.
ValueId block_scaled_values(Builder& b, const QuantizedTensor& q, bool with_tensor_scale, DType dtype) {
  ExprPool& pool = b.pool();
  ValueId packed = q.value("qdata"), scales = q.value("scale");
  const bool transposed = stored_transposed(q, "qdata");
  if (transposed) {
    packed = b.transpose(packed, -2, -1);
    scales = b.transpose(scales, -2, -1);
  }
  const std::int64_t block = q.integer("block_size");
  if (block < 1) fail(ErrorCode::bad_file, "the block of an NVFP4 tensor has no elements");
  const ValueId elements = widen_float4(b, b.dtype(packed) == DType::u8 ? packed : b.cast(packed, DType::u8));
  const Dims shape(b.shape(elements));
  const Dim blocks_per_row = pool.floordiv(shape.back(), block);
  const Dim rows = pool.product(std::span(shape).first(shape.size() - 1));
  const pt2::PickledAttribute* swizzled_attribute = q.tensor->attribute("is_swizzled_scales");
  if (swizzled_attribute != nullptr && swizzled_attribute->integer != 0)
    scales = microscaling::scales_from_tiles(b, scales, {}, rows, blocks_per_row);
  Dims blocks(shape.begin(), shape.end() - 1);
  blocks.push_back(blocks_per_row);
  blocks.emplace_back(1);
  scales = b.cast(b.reshape(scales, blocks), DType::f32);
  const ValueId per_tensor_scale = q.value_or_none("per_tensor_scale");
  if (with_tensor_scale && per_tensor_scale != kNoValue) {
    // Aligns a scale per expert, [experts, 1, 1], with [experts, rows, blocks, 1].
    const ValueId tensor_scale = b.rank(per_tensor_scale) == 0 ? per_tensor_scale : b.unsqueeze(per_tensor_scale, -1);
    scales = b.expr("t * s", {{"t", tensor_scale}, {"s", scales}}, DType::f32);
  }
  blocks.back() = block;
  ValueId y = b.expr("x * s", {{"x", b.reshape(elements, blocks)}, {"s", scales}}, DType::f32, dtype);
  y = b.reshape(y, shape);
  return transposed ? b.transpose(y, -2, -1) : y;
}

bool is_set(const pt2::PickledAttribute& record, std::string_view name) {
  const pt2::PickledAttribute* f = record.find(name);
  return f != nullptr && f->integer != 0;
}

}  // namespace

ValueId dequantize_nvfp4(Builder& b, const QuantizedTensor& q) {
  return block_scaled_values(b, q, /*with_tensor_scale=*/true, q.tensor->dtype);
}

/// Multiplies (elements times block scales), which are exact in bfloat16; the product's scale holds the scales per
/// tensor.
QuantizedProduct multiply_nvfp4(Builder& b, QuantizedTensor& weight, ValueId x) {
  const pt2::PickledAttribute& activation_options = weight.attribute("act_quant_kwargs");
  const pt2::PickledAttribute* size = activation_options.find("block_size");
  const std::int64_t block = size == nullptr ? 16 : size->integer;
  if (block < 1 || block > (1 << 20))
    fail(ErrorCode::bad_file, fmt::format("NVFP4 blocks of {} elements are not supported", block));
  const microscaling::NarrowFloat& float4 = *microscaling::find_narrow_float("float4_e2m1fn_x2");
  const DType dtype = b.dtype(x);
  const Dims shape(b.shape(x));
  if (shape.empty()) fail(ErrorCode::bad_file, "the activation has no dimensions");
  Dims blocks = shape;
  blocks.back() = b.pool().floordiv(shape.back(), block);
  blocks.emplace_back(block);
  const ValueId magnitude = b.expr("abs(x)", {{"x", x}}, DType::f32);
  ValueId per_tensor_scale = weight.value_or_none("act_per_tensor_scale");
  // torchao multiplies a batch of weights one by one: each activation has its own scale.
  const bool batch = weight.tensor->sizes.size() == 3 && shape.size() == 3;
  if (is_set(activation_options, "use_dynamic_per_tensor_scale")) {
    const std::vector<std::int64_t> axes = batch ? std::vector<std::int64_t>{1, 2} : b.all_axes(magnitude);
    const ValueId largest = b.reduce(magnitude, "max", axes, batch, DType::f32);
    per_tensor_scale =
        b.expr("m / 2688", {{"m", largest}}, DType::f32);  // 448 * 6: the largest scale times the largest element
  }
  const ValueId block_max = b.reduce(b.reshape(magnitude, blocks), "max", {-1}, true, DType::f32);
  ValueId tensor_scale = per_tensor_scale == kNoValue ? b.scalar(1, DType::f32) : per_tensor_scale;
  if (b.rank(tensor_scale) == 3) tensor_scale = b.unsqueeze(tensor_scale, -1);
  const ValueId scale = b.cast(b.cast(b.expr("max(min(m / 6 / t, 448), least)",
                                             {{"m", block_max}, {"t", tensor_scale}, {"least", kMinScale}}, DType::f32),
                                      DType::f8_e4m3fn),
                               DType::f32);
  const ValueId x_scaled =
      b.expr("x * ((1 / t) / s)", {{"x", b.reshape(x, blocks)}, {"t", tensor_scale}, {"s", scale}}, DType::f32);
  const ValueId rounded =
      b.expr("x * s", {{"x", microscaling::round_to(b, x_scaled, float4)}, {"s", scale}}, DType::f32, dtype);
  QuantizedProduct product{b.reshape(rounded, shape), block_scaled_values(b, weight, false, dtype), per_tensor_scale};
  const ValueId weight_scale = weight.value_or_none("per_tensor_scale");
  if (weight_scale != kNoValue && per_tensor_scale != kNoValue) {
    product.scale = b.expr("x * y", {{"x", per_tensor_scale}, {"y", weight_scale}}, DType::f32);
  } else if (weight_scale != kNoValue) {
    product.scale = weight_scale;
  }
  return product;
}

}  // namespace tern::subclasses
