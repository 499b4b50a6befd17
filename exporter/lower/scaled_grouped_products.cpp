// Grouped products of float8 matrices with scales for rows, or for the blocks of MX.
#include <fmt/format.h>

#include "exporter/lower/contraction.h"
#include "exporter/lower/quantization.h"
#include "exporter/lower/scaling.h"
#include "exporter/microscaling/scale_tiles.h"
#include "schema/program.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

/// Rows x [s, k] and the matrices [g, k, n] of their groups, or pairs of matrices [g, s, k] and [g, k, n].
struct ScaledGroupedProductsOperands {
  ValueId x, w;
  ValueId x_scale, w_scale;
  bool mx = false, tiles = false;  ///< scales of blocks, in tiles
};

ScaledGroupedProductsOperands operands(Builder& b, const Call& c, ValueId x_scale, ValueId w_scale) {
  const ScaledGroupedProductsOperands o = {c.tensor("self"), c.tensor("mat2"), x_scale, w_scale};
  if (b.rank(o.w) != 3 || b.rank(o.x) < 2 || b.rank(o.x) > 3) c.unsupported("groups must be along rows");
  return o;
}

ValueId grouped(Builder& b, const Call& c, ValueId x, ValueId w) {
  if (b.rank(x) == 3) return product(b, x, w, DType::f32);
  const bool same_dtype = b.dtype(x) == b.dtype(w);
  return b.add(Op::grouped_matmul,
               {same_dtype ? x : b.cast(x, DType::f32), same_dtype ? w : b.cast(w, DType::f32), c.tensor("offs")},
               {attr_dtype(DType::f32)});
}

/// [rows, groups] of 0 and 1: 1 for groups ending before the row.
ValueId passed_groups(Builder& b, const Call& c, Dim rows) {
  const ValueId row = b.reshape(b.iota(rows, DType::i64), {rows, 1});
  return b.expr("row >= end", {{"row", row}, {"end", c.tensor("offs")}}, DType::i64);
}

ValueId clamp_max_index(Builder& b, ValueId index, Dim last) {
  return b.expr("min(i, last)", {{"i", index}, {"last", b.from_dim(last)}}, DType::i64);
}

/// Scales for rows of x and columns of the matrices: they multiply the product.
Values row_scaled_product(Builder& b, const Call& c, const ScaledGroupedProductsOperands& o) {
  const Dim groups = b.size(o.w, 0), columns = b.size(o.w, 2);
  const ValueId p = grouped(b, c, o.x, o.w);
  ValueId row_scale, column_scale = b.reshape(o.w_scale, {groups, columns});
  if (b.rank(o.x) == 3) {
    row_scale = b.reshape(o.x_scale, {groups, b.size(o.x, 1), 1});
    column_scale = b.unsqueeze(column_scale, 1);
  } else {
    const Dim rows = b.size(o.x, 0);
    row_scale = b.reshape(o.x_scale, {rows, 1});
    // Rows after the last group are zeros with any scale.
    const ValueId group = b.reduce(passed_groups(b, c, rows), "sum", {1}, false, DType::i64);
    column_scale = b.index_select(column_scale, clamp_max_index(b, group, b.pool().sub(groups, 1)), 0);
  }
  std::string text = "p * x * y";
  std::vector<ExprArg> args = {{"p", p}, {"x", row_scale}, {"y", column_scale}};
  if (c.has_argument("bias")) {
    text += " + bias";
    args.emplace_back("bias", c.tensor("bias"));
  }
  return {b.expr(text, args, DType::f32, c.result_dtype())};
}

/// Tiled scales start each group's rows on a tile and pad the group's last tile. Drops the padding rows' scales.
ValueId drop_padding_rows(Builder& b, const Call& c, ValueId scales, Dim rows) {
  const ValueId group_ends = b.cast(c.tensor("offs"), DType::i64);
  const Dim groups = b.size(group_ends, 0);
  const ValueId starts =
      b.concat({b.full({Dim(1)}, 0, DType::i64), b.slice(group_ends, 0, 0, b.pool().sub(groups, 1))}, 0);
  const ValueId padding =
      b.expr("n = end - start; floordiv(n + 127, 128) * 128 - n", {{"end", group_ends}, {"start", starts}}, DType::i64);
  const ValueId padding_before =
      b.expr("passed * padding", {{"passed", passed_groups(b, c, rows)}, {"padding", padding}}, DType::i64);
  const ValueId row =
      b.expr("i + before",
             {{"i", b.iota(rows, DType::i64)}, {"before", b.reduce(padding_before, "sum", {1}, false, DType::i64)}},
             DType::i64);
  return b.index_select(scales, clamp_max_index(b, row, b.pool().sub(b.size(scales, 0), 1)), 0);
}

/// Multiplies by an expression: the exporter then finds the quantized value of a constant with scales of any origin.
ValueId dequantized(Builder& b, ValueId elements, ValueId scales) {
  Dims blocks(b.shape(elements));
  blocks.back() = b.size(scales, -1);
  blocks.emplace_back(kMxBlock);
  const ValueId y = b.expr("x * s", {{"x", b.reshape(elements, blocks)}, {"s", b.unsqueeze(scales, -1)}}, DType::f32);
  return b.reshape(y, b.shape(elements));
}

Values block_scaled_product(Builder& b, const Call& c, const ScaledGroupedProductsOperands& o) {
  ExprPool& pool = b.pool();
  const Dim groups = b.size(o.w, 0), rows = b.size(o.x, -2), columns = b.size(o.w, 2);
  const Dim depth = b.size(o.w, 1), across = pool.floordiv(depth, kMxBlock);
  if (!depth.is_const() || depth.value() % kMxBlock != 0)
    c.unsupported("blocks of 32 need an axis with a constant multiple of 32 elements");
  const auto untiled = [&](ValueId scales, const Dims& lead, Dim row_count) {
    if (o.tiles) return microscaling::scales_from_tiles(b, scales, lead, row_count, across);
    Dims shape = lead;
    shape.push_back(row_count);
    shape.push_back(across);
    return b.reshape(scales, shape);
  };
  ValueId x_scale;
  if (b.rank(o.x) == 3) {
    x_scale = untiled(o.x_scale, {groups}, rows);
  } else if (o.tiles) {
    const Dim padded = pool.floordiv(b.numel(o.x_scale), pool.mul(pool.ceildiv(across, 4), 4));
    x_scale = drop_padding_rows(b, c, untiled(o.x_scale, {}, padded), rows);
  } else {
    x_scale = untiled(o.x_scale, {}, rows);
  }
  const ValueId x = dequantized(b, o.x, x_scale);
  const ValueId w = dequantized(b, b.transpose(o.w, 1, 2), untiled(o.w_scale, {groups}, columns));
  const ValueId p = grouped(b, c, x, b.transpose(w, 1, 2));
  if (!c.has_argument("bias")) return {b.cast(p, c.result_dtype())};
  return {b.expr("p + bias", {{"p", p}, {"bias", c.tensor("bias")}}, DType::f32, c.result_dtype())};
}

/// The scales' dtype tells row scales from block scales; block scales are tiled.
Values scaled_grouped_mm(Builder& b, const Call& c) {
  ScaledGroupedProductsOperands o = operands(b, c, c.tensor("scale_a"), c.tensor("scale_b"));
  const DType x = b.dtype(o.x_scale), w = b.dtype(o.w_scale);
  o.mx = o.tiles = x == DType::f8_e8m0;
  if (x != w || (x != DType::f32 && x != DType::f8_e8m0))
    c.unsupported(fmt::format("groups with scales of {} and {} are not supported", name_of(x), name_of(w)));
  return o.mx ? block_scaled_product(b, c, o) : row_scaled_product(b, c, o);
}

struct GroupScaling {
  ScalingType type;
  bool tiles;
};
/// Two levels of scales mean float4, absent from .pt2 files.
GroupScaling scaling(const Call& c, ArgumentName recipes, ArgumentName swizzles) {
  const std::vector<std::int64_t> types = c.integers(recipes), swizzle = c.integers(swizzles);
  if (types.size() != 1) c.unsupported("several levels of scales are not supported");
  const auto type = static_cast<ScalingType>(types[0]);
  if (type != ScalingType::row && type != ScalingType::block_1x32)
    c.unsupported(
        fmt::format("groups with scales of recipe {} are not supported; use rows (1) or blocks of 32 (3)", types[0]));
  return {type, !swizzle.empty() && swizzle[0] != 0};
}

Values scaled_grouped_mm_by_recipes(Builder& b, const Call& c) {
  const GroupScaling x = scaling(c, "recipe_a", "swizzle_a"), w = scaling(c, "recipe_b", "swizzle_b");
  if (x.type != w.type || x.tiles != w.tiles) c.unsupported("the scales of both matrices must be of one kind");
  ScaledGroupedProductsOperands o = operands(b, c, c.tensors("scale_a").at(0), c.tensors("scale_b").at(0));
  o.mx = x.type == ScalingType::block_1x32;
  o.tiles = x.tiles;
  return o.mx ? block_scaled_product(b, c, o) : row_scaled_product(b, c, o);
}

constexpr Lowering kScaledGroupedProductsLowerings[] = {
    {"aten._scaled_grouped_mm.default", scaled_grouped_mm},
    {"aten._scaled_grouped_mm_v2.default", scaled_grouped_mm_by_recipes},
};

}  // namespace

std::span<const Lowering> scaled_grouped_product_lowerings() {
  return kScaledGroupedProductsLowerings;
}

}  // namespace tern
