// Quantized values: packing elements and scales into one value, and dequantizing.
#include <fmt/format.h>
#include <tern/dtype.h>

#include "schema/infer/checks.h"
#include "schema/ops/attributes.h"
#include "schema/ops/families.h"
#include "schema/ops/names.h"

namespace tern::ops {
namespace {

/// mx_pack(elements [.., K], scales; block, layout, dtype): the MX value of shape [.., K] whose scales are float8_e8m0
/// (or their bits as uint8), as many as the layout has, in any shape. `dtype`, where it is given, is the element type
/// of bits that come as uint8; two float4_e2m1fn_x2 share a byte, and K is then twice the last size. Moves bytes only.
void mx_pack_rule(Inference& c) {
  plain(c, 0);
  plain(c, 1);
  Blocks b;
  b.columns = static_cast<std::int32_t>(c.integer(AttrKey::block));
  b.layout = static_cast<ScaleLayout>(c.integer(AttrKey::layout));
  TensorType t = c.in(0);
  c.require(t.rank() >= 1, "the elements need an axis");
  if (c.node.has(AttrKey::dtype) && c.dtype() != t.dtype) {
    c.require(t.dtype == DType::u8, "elements of another type must be stored as uint8");
    t.dtype = c.dtype();
    if (t.dtype == DType::f4_e2m1) t.shape.back() = c.pool.mul(t.shape.back(), 2);
  }
  c.require(is_quantized_element(t.dtype) && is_floating(t.dtype),
            "MX elements are float8_e4m3fn, float8_e5m2, float6 or float4");
  c.require(b.columns % elements_per_byte(t.dtype) == 0, "the block of float4 elements must be even");
  const DType scale = c.in(1).dtype;
  c.require(scale == DType::f8_e8m0 || scale == DType::u8, "the scales must be float8_e8m0fnu");

  ExprPool& p = c.pool;
  const Dim columns = t.shape.back();
  c.require_equal(p.mod(columns, b.columns), 0, "the last size and a multiple of the block");
  const Dim rows = p.product(std::span(t.shape).first(t.shape.size() - 1));
  const Dim blocks = p.floordiv(columns, b.columns);
  const Dim scales = b.layout == ScaleLayout::plain ? p.mul(rows, blocks)
                                                    : p.mul(p.mul(p.ceildiv(rows, 128), p.ceildiv(blocks, 4)), 512);
  c.require_equal(p.product(c.in(1).shape), scales, "the number of scales and of blocks");
  t.blocks = b;
  c.outputs.push_back(std::move(t));
}

/// dequantize(x; dtype): the numbers of a quantized value, computed in float32 as its zero points say
/// (dtypes/blocks.h), and rounded to dtype.
void dequantize_rule(Inference& c) {
  c.require(c.in(0).quantized(), "the operand is not a quantized value");
  require_numbers_type(c);
  c.out(c.dtype(), c.in(0).shape);
}

constexpr AttrRecord kMxPack[] = {
    required(AttrKey::block, AttrType::integer, "elements that share a scale").bounds(1, 1 << 20),
    defaulted(AttrKey::layout, kLayoutNames, 0, "order of the scales"),
    optional_attribute(AttrKey::dtype, AttrType::dtype, "the dtype of the elements", "of elements that come as uint8"),
};
constexpr AttrRecord kDequantize[] = {required(AttrKey::dtype, AttrType::dtype, "of the result")};

constexpr OpRecord kQuantizedOps[] = {
    TERN_OP(110, mx_pack, "elements, scales -> x", "an MX value; moves bytes only").attrs(kMxPack).rule(mx_pack_rule),
    // 111 was mx_dequantize, which loader/read_functions.cpp reads as dequantize.
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
