// Quantized values: packing elements and scales into one value, and dequantizing.
#include <fmt/format.h>
#include <tern/dtype.h>

#include "schema/infer/checks.h"
#include "schema/ops/attributes.h"
#include "schema/ops/families.h"
#include "schema/ops/names.h"

namespace tern::ops {
namespace {

bool is_mx_element(DType t) {
  return t == DType::f8_e4m3fn || t == DType::f8_e5m2 || t == DType::f6_e2m3 || t == DType::f6_e3m2 ||
         t == DType::f4_e2m1;
}

struct MxAttributes {
  std::int32_t block;
  ScaleLayout layout;
};
MxAttributes mx_attributes(const Inference& c) {
  return {static_cast<std::int32_t>(c.integer(AttrKey::block)), static_cast<ScaleLayout>(c.integer(AttrKey::layout))};
}

/// mx_pack(elements [.., K], scales; block, layout, dtype): the MX value of shape [.., K] with float8_e8m0 scales (or
/// their bits as uint8), as many as the layout needs, in any shape. `dtype`, if given, is the element type of elements
/// passed as uint8 bits; two float4_e2m1fn_x2 share a byte, so K is twice the last size. Moves bytes only.
void mx_pack_rule(Inference& c) {
  plain(c, 0);
  plain(c, 1);
  const MxAttributes mx = mx_attributes(c);
  TensorType t = c.in(0);
  c.require(t.rank() >= 1, "the elements need an axis");
  if (c.node.has(AttrKey::dtype) && c.dtype() != t.dtype) {
    c.require(t.dtype == DType::u8, "elements of another type must come as uint8");
    t.dtype = c.dtype();
    if (t.dtype == DType::f4_e2m1) t.shape.back() = c.pool.mul(t.shape.back(), 2);
  }
  c.require(is_mx_element(t.dtype), "MX elements are float8_e4m3fn, float8_e5m2, float6 or float4");
  c.require(mx.block % elements_per_byte(t.dtype) == 0, "the block of float4 elements must be even");
  const DType scale = c.in(1).dtype;
  c.require(scale == DType::f8_e8m0 || scale == DType::u8, "the scales must be float8_e8m0fnu");

  ExprPool& p = c.pool;
  const Dim columns = t.shape.back();
  c.same(p.mod(columns, mx.block), 0, "the last size and a multiple of the block");
  const Dim rows = p.product(std::span(t.shape).first(t.shape.size() - 1));
  const Dim blocks = p.floordiv(columns, mx.block);
  const Dim scales = mx.layout == ScaleLayout::plain ? p.mul(rows, blocks)
                                                     : p.mul(p.mul(p.ceildiv(rows, 128), p.ceildiv(blocks, 4)), 512);
  c.same(p.product(c.in(1).shape), scales, "the number of scales and of blocks");
  t.blocks.columns = mx.block;
  t.blocks.layout = mx.layout;
  c.outputs.push_back(std::move(t));
}

/// mx_dequantize(x; dtype, block, layout): element * scale, computed in float. A NaN scale makes its block NaN. `block`
/// and `layout` repeat x's properties for kernels.
void mx_dequantize_rule(Inference& c) {
  const MxAttributes mx = mx_attributes(c);
  const TensorType& x = c.in(0);
  c.require(x.quantized(), "the operand is not an MX value");
  c.require(x.blocks.columns == mx.block && x.blocks.layout == mx.layout, "block or layout is not that of the operand");
  require_numbers_type(c);
  c.out(c.dtype(), x.shape);
}

/// dequantize(x; dtype): the numbers of a quantized value, computed in float32 with its zero points (dtypes/blocks.h),
/// and rounded to dtype.
void dequantize_rule(Inference& c) {
  c.require(c.in(0).quantized(), "the operand is not a quantized value");
  require_numbers_type(c);
  c.out(c.dtype(), c.in(0).shape);
}

constexpr Attribute kBlock = need(AttrKey::block, AttrType::integer, "elements that share a scale").within(1, 1 << 20);
constexpr Attribute kLayout = with(AttrKey::layout, kLayoutNames, 0, "order of the scales");
constexpr AttrRecord kMxPack[] = {
    kBlock,
    kLayout,
    may(AttrKey::dtype, AttrType::dtype, "the dtype of the elements", "of elements that come as uint8"),
};
constexpr AttrRecord kMxDequantize[] = {need(AttrKey::dtype, AttrType::dtype, "of the result"), kBlock, kLayout};

constexpr AttrRecord kDequantize[] = {need(AttrKey::dtype, AttrType::dtype, "of the result")};

constexpr OpRecord kQuantizedOps[] = {
    TERN_OP(110, mx_pack, "elements, scales -> x", "an MX value; moves bytes only").attrs(kMxPack).rule(mx_pack_rule),
    TERN_OP(111, mx_dequantize, "x -> y", "element * scale")
        .attrs(kMxDequantize)
        .traits_of(Trait::plain)
        .rule(mx_dequantize_rule),
    TERN_OP(131, dequantize, "x -> y", "the numbers of a quantized value")
        .attrs(kDequantize)
        .traits_of(Trait::plain)
        .rule(dequantize_rule),
};

}  // namespace

std::span<const OpRecord> quantized_ops() {
  return kQuantizedOps;
}

}  // namespace tern::ops
