// torchao's float8 primitives: scales in float32 for the whole tensor, rows or blocks.
#include "exporter/lower/quantization.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

/// Reshapes x and its scales to broadcast. A broadcastable scale stays unchanged; else each axis of x is divided into
/// as many blocks as the scales have elements along the axis.
struct Scaled {
  ValueId x, scale;
};
Scaled scaled(Builder& b, const Call& c) {
  const ValueId x = c.tensor("tensor"), scale = c.tensor("scale");
  if (b.numel(scale).is(1)) return {x, b.reshape(scale, {})};
  if (b.rank(x) != b.rank(scale)) c.unsupported("the scales and the tensor must have the same number of axes");
  Dims block;
  for (int i = 0; i < b.rank(x); ++i) {
    const Dim size = b.size(x, i), count = b.size(scale, i);
    block.push_back(count == size ? Dim(1) : b.pool().floordiv(size, count));
  }
  const BlockAxes blocks = blocks_of(b, c, x, block);
  return {b.reshape(x, blocks.split), b.reshape(scale, blocks.shared)};
}

Values quantize_float8(Builder& b, const Call& c) {
  const auto [x, scale] = scaled(b, c);
  const DType t = c.result_dtype();
  const std::optional<QuantizedRange> r = range_of(t);
  if (!r) c.unsupported("the result must be float8");
  Steps s(b);
  const Term y = s.apply(s.cast(s.tensor("x", x), DType::f32), "/", s.tensor("scale", scale));
  return {b.reshape(s.finish(s.clamp(y, r->min, r->max), t), b.shape(c.tensor("tensor")))};
}

Values dequantize_float8(Builder& b, const Call& c) {
  const auto [x, scale] = scaled(b, c);
  Steps s(b);
  const Term y = s.apply(s.cast(s.tensor("x", x), DType::f32), "*", s.tensor("scale", scale));
  return {b.reshape(s.finish(y, c.result_dtype()), b.shape(c.tensor("tensor")))};
}

/// Largest magnitude of each block over the dtype's largest number; a power of two for float8_e8m0fnu scales.
Values choose_scale(Builder& b, const Call& c) {
  const ValueId x = c.tensor("tensor");
  const DType t = b.dtype(x);
  const std::optional<QuantizedRange> r = range_of(c.dtype_or("float8_dtype", DType::f8_e4m3fn));
  if (!r) c.unsupported("float8_dtype must be a float8 dtype");
  const BlockAxes blocks = blocks_of(b, c, x, c.dims("block_size"));
  const ValueId magnitude =
      b.reduce(b.expr("abs(x)", {{"x", b.reshape(x, blocks.split)}}, t), "max", blocks.within_axes, true, t);
  Steps s(b);
  Term m = s.tensor("m", magnitude);
  if (c.has_argument("hp_value_lb")) m = s.clamp_min(m, c.number("hp_value_lb"));
  if (c.has_argument("hp_value_ub")) m = s.clamp_max(m, c.number("hp_value_ub"));
  Term scale = s.apply(m, "/", s.number(r->max));
  if (c.dtype_or("scale_dtype", DType::f32) == DType::f8_e8m0) {
    scale = s.cast({"log2(" + scale.text + ")", DType::invalid}, t);
    scale = s.cast({"exp2(round(" + scale.text + "))", DType::invalid}, t);
  }
  return {b.reshape(s.finish(scale, DType::f32), blocks.counts)};
}

constexpr Lowering kTorchaoFloat8Lowerings[] = {
    {"torchao.quantize_affine_float8_non_decomposed.default", quantize_float8},
    {"torchao.dequantize_affine_float8_non_decomposed.default", dequantize_float8},
    {"torchao.choose_scale_float8.default", choose_scale},
};

}  // namespace

std::span<const Lowering> torchao_float8_lowerings() {
  return kTorchaoFloat8Lowerings;
}

}  // namespace tern
