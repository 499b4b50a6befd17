// torchao's NVFP4Tensor: float4 elements in blocks of 16 with a float8_e4m3fn scale each, and at most one float32 scale
// above them (torchao/prototype/mx_formats/nvfp4_tensor.py).
#include <fmt/format.h>
#include <tern/error.h>

#include "exporter/microscaling/narrow_floats.h"
#include "exporter/microscaling/scale_tiles.h"
#include "exporter/subclasses/families.h"

namespace tern::subclasses {
namespace {

constexpr double kLeastScale = 0.015625;  // the smallest normal float8_e4m3fn

/// The numbers of float4 codes, two in a byte, the first in the lower bits: [.., n] becomes [.., 2 n].
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

/// `scaled`: with the tensor's own scale.
ValueId numbers(Builder& b, const QuantizedTensor& q, bool scaled, DType dtype) {
  ExprPool& p = b.pool();
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
  const Dim columns = p.floordiv(shape.back(), block);
  const Dim rows = p.product(std::span(shape).first(shape.size() - 1));
  const pt2::PickledAttribute* swizzled = q.tensor->attribute("is_swizzled_scales");
  if (swizzled != nullptr && swizzled->integer != 0)
    scales = microscaling::scales_from_tiles(b, scales, {}, rows, columns);
  Dims blocks(shape.begin(), shape.end() - 1);
  blocks.push_back(columns);
  blocks.emplace_back(1);
  scales = b.cast(b.reshape(scales, blocks), DType::f32);
  const ValueId outer = q.value_or_none("per_tensor_scale");
  if (scaled && outer != kNoValue) {
    // Aligns a scale per expert, [experts, 1, 1], with [experts, rows, blocks, 1].
    const ValueId above = b.rank(outer) == 0 ? outer : b.unsqueeze(outer, -1);
    scales = b.expr("t * s", {{"t", above}, {"s", scales}}, DType::f32);
  }
  blocks.back() = block;
  ValueId y = b.expr("x * s", {{"x", b.reshape(elements, blocks)}, {"s", scales}}, DType::f32, dtype);
  y = b.reshape(y, shape);
  return transposed ? b.transpose(y, -2, -1) : y;
}

bool flag(const pt2::PickledAttribute& record, std::string_view name) {
  const pt2::PickledAttribute* f = record.find(name);
  return f != nullptr && f->integer != 0;
}

}  // namespace

ValueId dequantize_nvfp4(Builder& b, const QuantizedTensor& q) {
  return numbers(b, q, /*scaled=*/true, q.tensor->dtype);
}

/// Multiplies elements times block scales, exact in bfloat16; the tensors' scales follow.
QuantizedProduct multiply_nvfp4(Builder& b, QuantizedTensor& weight, ValueId x) {
  const pt2::PickledAttribute& how = weight.attribute("act_quant_kwargs");
  const pt2::PickledAttribute* size = how.find("block_size");
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
  ValueId outer = weight.value_or_none("act_per_tensor_scale");
  // torchao multiplies a batch of weights one by one: each activation has its own scale.
  const bool batch = weight.tensor->sizes.size() == 3 && shape.size() == 3;
  if (flag(how, "use_dynamic_per_tensor_scale")) {
    const std::vector<std::int64_t> axes = batch ? std::vector<std::int64_t>{1, 2} : b.all_axes(magnitude);
    const ValueId largest = b.reduce(magnitude, "max", axes, batch, DType::f32);
    outer = b.expr("m / 2688", {{"m", largest}}, DType::f32);  // 448 * 6: the largest scale times the largest element
  }
  const ValueId most = b.reduce(b.reshape(magnitude, blocks), "max", {-1}, true, DType::f32);
  ValueId above = outer == kNoValue ? b.scalar(1, DType::f32) : outer;
  if (b.rank(above) == 3) above = b.unsqueeze(above, -1);
  const ValueId scale = b.cast(
      b.cast(b.expr("max(min(m / 6 / t, 448), least)", {{"m", most}, {"t", above}, {"least", kLeastScale}}, DType::f32),
             DType::f8_e4m3fn),
      DType::f32);
  const ValueId scaled =
      b.expr("x * ((1 / t) / s)", {{"x", b.reshape(x, blocks)}, {"t", above}, {"s", scale}}, DType::f32);
  const ValueId rounded =
      b.expr("x * s", {{"x", microscaling::round_to(b, scaled, float4)}, {"s", scale}}, DType::f32, dtype);
  QuantizedProduct product{b.reshape(rounded, shape), numbers(b, weight, false, dtype), outer};
  const ValueId own = weight.value_or_none("per_tensor_scale");
  if (own != kNoValue && outer != kNoValue) {
    product.scale = b.expr("x * y", {{"x", outer}, {"y", own}}, DType::f32);
  } else if (own != kNoValue) {
    product.scale = own;
  }
  return product;
}

}  // namespace tern::subclasses
