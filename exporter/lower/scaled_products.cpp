// Products of float8 matrices with scales for the whole matrix, rows, or blocks.
#include <fmt/format.h>

#include "exporter/lower/contraction.h"
#include "exporter/lower/quantization.h"
#include "exporter/lower/scaling.h"
#include "schema/program.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

constexpr std::int64_t kBlock = 128;

/// Factor [r, k], the contracted axis last, and its scales: one number, [r, 1], blocks [r or r / 128, k / 128], or MX
/// scales.
struct ScaledFactor {
  ValueId x, scale;
  bool mx = false;
  ScaleLayout layout = ScaleLayout::swizzled_32_4_4;  ///< of MX
};

/// True for a scale per row or a single scale, applied to the product.
bool along_rows(Builder& b, const ScaledFactor& f) {
  return !f.mx && (b.numel(f.scale).is(1) || b.size(f.scale, 1).is(1));
}

/// Scales for blocks of 128 along `axis`, repeated for a shorter last block.
ValueId repeated(Builder& b, const Call& c, ValueId scale, std::int64_t axis, Dim size) {
  const Dim count = b.size(scale, axis);
  if (count == size || count.is(1)) return scale;
  if (!size.is_const() || !count.is_const()) c.unsupported("block scales need a matrix of constant size");
  if ((size.value() + kBlock - 1) / kBlock != count.value()) {
    c.unsupported(fmt::format("{} scales do not fit an axis of size {}", count.value(), size.value()));
  }
  if (size.value() % kBlock == 0) return scale;
  const ValueId block = b.expr("floordiv(i, 128)", {{"i", b.iota(size, DType::i64)}}, DType::i64);
  return b.index_select(scale, block, axis);
}

/// Dequantizes a factor with scales along the contracted axis.
ValueId dequantized(Builder& b, const Call& c, const ScaledFactor& f) {
  if (f.mx) {
    const std::vector<Attr> block = {attr(AttrKey::block, Dim(kMxBlock)),
                                     attr(AttrKey::layout, Dim(static_cast<std::int64_t>(f.layout)))};
    const ValueId mx = b.add(Op::mx_pack, {f.x, f.scale}, block);
    return b.add(Op::dequantize, {mx}, {attr_dtype(DType::f32)});
  }
  ValueId scale = f.scale;
  Dims block;
  for (std::int64_t axis : {0, 1}) {
    const Dim size = b.size(f.x, axis);
    scale = repeated(b, c, scale, axis, size);
    const Dim count = b.size(scale, axis);
    block.push_back(count == size ? Dim(1) : count.is(1) ? size : Dim(kBlock));
  }
  const BlockAxes blocks = blocks_of(b, c, f.x, block);
  const ValueId y = b.expr(
      "x * scale", {{"x", b.reshape(f.x, blocks.split)}, {"scale", b.reshape(scale, blocks.shared)}}, DType::f32);
  return b.reshape(y, b.shape(f.x));
}

/// x y^T with their scales, the bias, and the scale of a float8 result, in float32.
Values multiply(Builder& b, const Call& c, const ScaledFactor& x, const ScaledFactor& y) {
  const DType result = c.result_dtype();
  std::string text = "p";
  std::vector<ExprArg> args;
  if (along_rows(b, x) && along_rows(b, y)) {
    args.emplace_back("p", product(b, x.x, b.transpose(y.x, 0, 1), DType::f32));
    args.emplace_back("x", b.numel(x.scale).is(1) ? b.reshape(x.scale, {}) : x.scale);
    args.emplace_back("y", b.numel(y.scale).is(1) ? b.reshape(y.scale, {}) : b.transpose(y.scale, 0, 1));
    text = "p * x * y";
  } else {
    const auto numbers = [&](const ScaledFactor& f) {
      if (!along_rows(b, f)) return dequantized(b, c, f);
      return b.expr("x * scale", {{"x", f.x}, {"scale", f.scale}}, DType::f32);
    };
    const ValueId left = numbers(x), right = numbers(y);
    args.emplace_back("p", product(b, left, b.transpose(right, 0, 1), DType::f32));
  }
  if (c.has_argument("bias")) {
    text += " + bias";
    args.emplace_back("bias", c.tensor("bias"));
  }
  if (c.has_argument("scale_result") && element_size(result) == 1) {
    text = "(" + text + ") * (1 / result)";
    args.emplace_back("result", b.reshape(c.tensor("scale_result"), {}));
  }
  if (text == "p") return {b.cast(args[0].value, result)};
  return {b.expr(text, args, DType::f32, result)};
}

/// The dtype and sizes of the scales determine their blocks.
Values scaled_mm(Builder& b, const Call& c) {
  ScaledFactor x = {c.tensor("self"), c.tensor("scale_a")},
               y = {b.transpose(c.tensor("mat2"), 0, 1), c.tensor("scale_b")};
  for (ScaledFactor* f : {&x, &y}) {
    f->mx = b.dtype(f->scale) == DType::f8_e8m0;
    if (!f->mx && b.dtype(f->scale) != DType::f32) c.unsupported("scales must be float32 or float8_e8m0fnu");
    if (!f->mx && !b.numel(f->scale).is(1) && b.rank(f->scale) != 2) c.unsupported("scales must be a matrix");
  }
  if (!y.mx && b.rank(y.scale) == 2) y.scale = b.transpose(y.scale, 0, 1);
  return multiply(b, c, x, y);
}

/// Reads lists of scales, each with a recipe. Two levels of scales mean float4, absent from .pt2 files.
ScaledFactor factor(Builder& b, const Call& c, ValueId x, ArgumentName scales, ArgumentName recipes,
                    ArgumentName swizzles) {
  const std::vector<std::int64_t> recipe = c.integers(recipes), swizzle = c.integers(swizzles);
  if (c.tensors(scales).size() != 1 || recipe.size() != 1) c.unsupported("several levels of scales are not supported");
  ScaledFactor f = {x, c.tensors(scales)[0]};
  const bool swizzled = !swizzle.empty() && swizzle[0] != 0;
  f.layout = swizzled ? ScaleLayout::swizzled_32_4_4 : ScaleLayout::plain;
  switch (static_cast<ScalingType>(recipe[0])) {
    case ScalingType::tensor: return f;
    case ScalingType::row: f.scale = b.reshape(f.scale, {b.size(x, 0), 1}); return f;
    case ScalingType::block_1x32: f.mx = true; return f;
    case ScalingType::block_1x128: return f;
    case ScalingType::block_128x128: {
      // Blocks of the contracted axis come first, padded to a multiple of four.
      const Dim blocks = b.pool().ceildiv(b.size(x, 1), kBlock);
      f.scale = b.transpose(b.slice(f.scale, 0, 0, blocks), 0, 1);
      return f;
    }
    default: c.unsupported(fmt::format("scales of recipe {} are not supported", recipe[0]));
  }
}

Values scaled_mm_by_recipes(Builder& b, const Call& c) {
  const ScaledFactor x = factor(b, c, c.tensor("self"), "scale_a", "recipe_a", "swizzle_a");
  return multiply(b, c, x, factor(b, c, b.transpose(c.tensor("mat2"), 0, 1), "scale_b", "recipe_b", "swizzle_b"));
}

constexpr Lowering kScaledProductsLowerings[] = {
    {"aten._scaled_mm.default", scaled_mm},
    {"aten._scaled_mm_v2.default", scaled_mm_by_recipes},
};

}  // namespace

std::span<const Lowering> scaled_product_lowerings() {
  return kScaledProductsLowerings;
}

}  // namespace tern
