// torchao's affine primitives: quantize, dequantize and the choice of scales, in blocks of any shape.
#include <fmt/format.h>

#include <cmath>

#include "exporter/lower/quantization.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

/// Bounds from the call, else the dtype's bounds.
QuantizedRange range(const Call& c, ArgumentName dtype) {
  const std::optional<QuantizedRange> natural = range_of(c.dtype_or(dtype, DType::invalid));
  if (!natural && !(c.has_argument("quant_min") && c.has_argument("quant_max")))
    c.unsupported("quantization to this dtype needs quant_min and quant_max");
  const QuantizedRange dtype_range = natural.value_or(QuantizedRange{0, 0});
  return {c.number_or("quant_min", dtype_range.min), c.number_or("quant_max", dtype_range.max)};
}

/// Programs of torchao up to 0.11 name the meaning of zero points: INT, FLOAT (tinygemm's) or NONE.
enum class Domain { integer, floating, none };
Domain domain(Builder& b, const Call& c) {
  const std::string name = c.text_or("zero_point_domain", "INT");
  if (name != "INT" && name != "FLOAT" && name != "NONE")
    c.unsupported("the zero point domain '" + name + "' is not supported");
  const ValueId zero_point = c.tensor_or_none("zero_point");
  if (name == "NONE" || zero_point == kNoValue || b.numel(zero_point).is(0)) return Domain::none;
  return name == "FLOAT" ? Domain::floating : Domain::integer;
}

/// Half the steps of the range: the origin of tinygemm's zero points.
double middle(const QuantizedRange& r) {
  return (r.max + r.min + 1) / 2;
}

Values quantize(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input");
  const BlockAxes blocks = blocks_of(b, c, x, c.dims("block_size"));
  const QuantizedRange r = range(c, "output_dtype");
  Steps s(b);
  const Term input = s.tensor("input", b.reshape(x, blocks.split)),
             scale = s.tensor("scale", per_block(b, c.tensor("scale"), blocks));
  const auto zero_point = [&] { return s.tensor("zero_point", per_block(b, c.tensor("zero_point"), blocks)); };
  const auto steps = [&] { return s.round(s.apply(input, "*", s.apply(s.number(1), "/", scale))); };
  Term q;
  switch (domain(b, c)) {
    case Domain::integer: q = s.apply(steps(), "+", zero_point()); break;
    case Domain::none: q = steps(); break;
    case Domain::floating: {
      const Term lower = s.apply(zero_point(), "-", s.apply(scale, "*", s.number(middle(r))));
      q = s.round(s.apply(s.apply(input, "-", lower), "/", scale));
    }
  }
  return {b.reshape(s.finish(s.clamp(q, r.min, r.max), c.result_dtype()), b.shape(x))};
}

Values dequantize(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input");
  const DType t = c.result_dtype();
  const BlockAxes blocks = blocks_of(b, c, x, c.dims("block_size"));
  Steps s(b);
  Term y = s.tensor("input", b.reshape(x, blocks.split));
  const Term scale = s.tensor("scale", per_block(b, c.tensor("scale"), blocks));
  const auto zero_point = [&] { return s.tensor("zero_point", per_block(b, c.tensor("zero_point"), blocks)); };
  switch (domain(b, c)) {
    case Domain::integer: y = s.apply(s.apply(s.cast(y, t), "-", s.cast(zero_point(), t)), "*", scale); break;
    case Domain::none: y = s.apply(s.cast(y, t), "*", scale); break;
    case Domain::floating: {  // PyTorch works in place: the dtype stays the result's
      y = s.cast(s.apply(s.cast(y, DType::f32), "-", s.number(middle(range(c, "input_dtype")))), t);
      y = s.cast(s.apply(y, "*", scale), t);
      y = s.cast(s.apply(y, "+", zero_point()), t);
    }
  }
  return {b.reshape(s.finish(y, t), b.shape(x))};
}

/// The smallest normal number.
double least_normal(DType t) {
  return t == DType::f16 ? 0x1p-14 : t == DType::f64 ? 0x1p-1022 : 0x1p-126;
}

/// Scale and zero point of each block. All steps round to the input's dtype.
Values choose(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input");
  const DType t = b.dtype(x);
  const BlockAxes blocks = blocks_of(b, c, x, c.dims("block_size"));
  const QuantizedRange r = range(c, "target_dtype");
  const std::string mapping = c.text("mapping_type");
  const bool keepdims = c.flag_or("keepdim", false);
  if (!c.flag_or("preserve_zero", true)) c.unsupported("preserve_zero=False is not supported");
  const ValueId view = b.reshape(x, blocks.split);
  const ValueId low = b.reduce(view, "min", blocks.within_axes, keepdims, t),
                high = b.reduce(view, "max", blocks.within_axes, keepdims, t);
  Steps s(b);
  const Term negative_part = s.clamp_max_zero(s.tensor("low", low)),
             positive_part = s.clamp_min_zero(s.tensor("high", high));
  Term scale;
  if (mapping == "SYMMETRIC") {
    scale = s.apply(s.larger(s.negated(negative_part), positive_part), "/", s.number((r.max - r.min) / 2));
  } else if (mapping == "SYMMETRIC_NO_CLIPPING_ERR") {
    const Term negative_scale = s.apply(negative_part, "/", s.number(r.min)),
               positive_scale = s.apply(positive_part, "/", s.number(r.max));
    scale = {fmt::format("({} > {} ? {} : {})", negative_scale.text, positive_scale.text, negative_scale.text,
                         positive_scale.text),
             t};
  } else if (mapping == "ASYMMETRIC") {
    scale = s.apply(s.apply(positive_part, "-", negative_part), "/", s.number(r.max - r.min));
  } else {
    c.unsupported("unsupported mapping '" + mapping + "'");
  }
  const ValueId step = s.finish(s.clamp_min(scale, c.number_or("eps", least_normal(t))), t);
  ValueId zero_point = kNoValue;
  if (mapping == "ASYMMETRIC") {
    Steps z(b);
    const Term scaled_low = z.round(z.apply(z.clamp_max_zero(z.tensor("low", low)), "/", z.tensor("scale", step)));
    zero_point = z.finish(z.clamp(z.apply(z.number(r.min), "-", scaled_low), r.min, r.max),
                          c.dtype_or("zero_point_dtype", DType::i32));
  } else {
    zero_point = b.full(b.shape(step), std::trunc(middle(r)), c.dtype_or("zero_point_dtype", t));
  }
  const auto shaped = [&](ValueId v) { return keepdims ? b.reshape(v, blocks.counts) : v; };
  return {b.cast(shaped(step), c.dtype_or("scale_dtype", t)), shaped(zero_point)};
}

Values int_matmul(Builder& b, const Call& c) {
  return {integer_product(b, c.tensor("a"), c.tensor("b"))};
}
Values int_scaled_matmul(Builder& b, const Call& c) {
  const ValueId scale = c.tensor("scales1"), p = integer_product(b, c.tensor("a"), c.tensor("b"));
  Steps s(b);
  const Term sums = s.cast(s.tensor("p", p), b.dtype(scale));
  return {s.finish(s.apply(sums, "*", s.tensor("scale", scale)))};
}

constexpr Lowering kTorchaoAffineLowerings[] = {
    {"torchao.quantize_affine.default", quantize},
    {"torchao.dequantize_affine.default", dequantize},
    {"torchao.choose_qparams_affine.default", choose},
    {"torchao.int_matmul.default", int_matmul},
    {"torchao.int_scaled_matmul.default", int_scaled_matmul},
};

}  // namespace

std::span<const Lowering> torchao_affine_lowerings() {
  return kTorchaoAffineLowerings;
}

}  // namespace tern
