// Rules of pointwise expressions, of tensors made from nothing, and of MX values.
#include <fmt/format.h>
#include <tern/dtype.h>

#include <cmath>

#include "schema/infer.h"
#include "schema/infer/checks.h"

namespace tern {
namespace {

/// The attribute `sizes`: at most kMaxRank of them, none provably negative.
Dims sizes_of(const Inference& c) {
  const Dims& sizes = c.node.dims(AttrKey::sizes);
  if (sizes.size() > static_cast<std::size_t>(kMaxRank))
    c.fail(fmt::format("rank {} (at most {})", sizes.size(), kMaxRank));
  for (Dim d : sizes) {
    if (c.pool.bounds(d).max < 0) c.fail("negative size " + c.pool.text(d));
  }
  return sizes;
}

void require_plain(const Inference& c, std::size_t i) {
  if (c.in(i).block != 0) c.fail(fmt::format("operand {} is an MX value; dequantize it first", i));
}

/// pointwise(x0, x1, ...; sizes): node.expr at every position of the broadcast of all inputs and, where it is given, of
/// `sizes`. An instruction `index` gives the position along an axis of that shape. float4_e2m1fn_x2, which has no
/// addressable elements, does not broadcast.
void pointwise_rule(Inference& c) {
  Dims shape = sizes_of(c);
  std::vector<DType> dtypes;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    require_plain(c, i);
    dtypes.push_back(c.in(i).dtype);
    shape = c.broadcast(shape, c.in(i).shape);
  }
  const PointwiseExpr& expr = c.node.expr;
  c.require(!expr.code.empty(), "the expression is empty");
  const DType result = expr.code.back().dtype;
  if (const std::string wrong = check(expr, dtypes, result); !wrong.empty()) c.fail(wrong);
  for (const Instruction& i : expr.code) {
    if (i.op == Scalar::index && static_cast<std::uint64_t>(i.integer) >= shape.size()) {
      c.fail(fmt::format("index {} of a result of rank {}", i.integer, shape.size()));
    }
  }
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    if (dtypes[i] != DType::f4_e2m1) continue;
    c.require(c.in(i).shape.size() == shape.size(), "float4 operands do not broadcast");
    for (std::size_t k = 0; k < shape.size(); ++k) c.same(c.in(i).shape[k], shape[k], "sizes of a float4 operand");
  }
  c.out(result, std::move(shape));
}

/// full(; sizes, value, dtype): every element is `value`: [real] or [real, imaginary] as numbers, or one integer, which
/// may be symbolic.
void full_rule(Inference& c) {
  if (const auto* numbers = std::get_if<std::vector<double>>(c.node.find(AttrKey::value))) {
    c.require(numbers->size() == 1 || numbers->size() == 2, "attribute 'value' must be one number or a complex one");
  } else {
    c.list(AttrKey::value, 1);
  }
  c.out(c.dtype(), sizes_of(c));
}

/// iota(; sizes, value, dtype): one axis; element i is start + i * step, where `value` is [start, step], as numbers or
/// as integers, which may be symbolic. Computed in int64 for integers, and in double or (float16, bfloat16) in float.
void iota_rule(Inference& c) {
  const DType t = c.dtype();
  c.require(t != DType::boolean && t != DType::f4_e2m1, "not for this dtype");
  c.out(t, sizes_of(c));
}

/// from_dim(; dim, dtype): the value of a size, as a tensor of no dimensions.
void from_dim_rule(Inference& c) {
  const DType t = c.dtype();
  c.require(t != DType::f4_e2m1, "not for this dtype");
  c.out(t, {});
}

/// random(; kind, sizes, dtype): new numbers at every run, by the session's generator (Philox 4x32-10).
///   uniform      in [0, 1), a floating dtype
///   dropout      in (0, 1], a floating dtype: the numbers by which PyTorch's dropout keeps what is below 1 - p
///   normal       of mean 0 and deviation 1, a floating or a complex dtype (of variance 1/2 for each part)
///   exponential  of mean 1, above 0; a floating dtype
///   bits         53 random bits as an int64 that is not negative
///   randint      in [low, high), `range` holding the two; any real dtype
///   poisson      one operand: the rates; of its shape and type
///   binomial     two operands of one shape and type: the counts of trials, and the chance of each
///   gamma        one operand: the shapes, of scale 1; of its shape and type
///   randperm     a permutation of 0..sizes[0]-1, one axis; any real dtype
/// Others are made of these: bernoulli(p) is uniform < p. Which numbers a seed gives is part of the format: those of
/// PyTorch on a CUDA device, as kernels/cpu/pointwise/random.cpp says, but for randperm and bits.
void random_rule(Inference& c) {
  const std::string& kind = c.node.text(AttrKey::kind);
  const DType t = c.dtype();
  Dims sizes = sizes_of(c);
  const std::size_t operands = kind == "binomial" ? 2 : kind == "poisson" || kind == "gamma" ? 1 : 0;
  c.require(c.input_count() == operands, "the number of operands is not that of the kind");
  for (std::size_t i = 0; i < operands; ++i) {
    parameter(c, i, sizes, "an operand of random");
    c.require(c.in(i).dtype == t, "an operand's dtype must be the result's");
  }
  c.require(t != DType::f4_e2m1, "not for float4_e2m1fn_x2");
  if (kind == "uniform" || kind == "exponential" || kind == "dropout") {
    c.require(is_floating(t), "the dtype must be floating");
  } else if (operands > 0) {
    // Nothing else: they have the operands' type.
  } else if (kind == "normal") {
    c.require(is_floating(t) || is_complex(t), "the dtype must be floating or complex");
  } else if (kind == "bits") {
    c.require(t == DType::i64, "the dtype must be int64");
  } else if (kind == "randint") {
    c.require(!is_complex(t), "the dtype must be real");
    const Dims& range = c.list(AttrKey::range, 2);  // which other kinds lack
    if (range[0].is_const() && range[1].is_const() && range[0].value() >= range[1].value()) {
      c.fail(fmt::format("the range {}..{} is empty", range[0].value(), range[1].value()));
    }
  } else {  // randperm
    c.require(!is_complex(t), "the dtype must be real");
    c.require(sizes.size() == 1, "a permutation has one axis");
  }
  c.out(t, std::move(sizes));
}

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

/// mx_pack(elements [.., K], scales; block, layout, dtype): the MX value of shape [.., K] whose scales are float8_e8m0
/// (or their bits as uint8), as many as the layout has, in any shape. `dtype`, where it is given, is the element type
/// of bits that come as uint8; two float4_e2m1fn_x2 share a byte, and K is then twice the last size. Moves bytes only.
void mx_pack_rule(Inference& c) {
  require_plain(c, 0);
  require_plain(c, 1);
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
  t.block = mx.block;
  t.layout = mx.layout;
  c.outputs.push_back(std::move(t));
}

/// mx_dequantize(x; dtype, block, layout): element * scale, computed in float. A scale of NaN makes its block NaN.
/// `block` and `layout` repeat those of x, for kernels.
void mx_dequantize_rule(Inference& c) {
  const MxAttributes mx = mx_attributes(c);
  const TensorType& x = c.in(0);
  c.require(x.block != 0, "the operand is not an MX value");
  c.require(x.block == mx.block && x.layout == mx.layout, "block or layout is not that of the operand");
  const DType t = c.dtype();
  c.require(t == DType::f16 || t == DType::bf16 || t == DType::f32 || t == DType::f64,
            "the dtype must be a floating one");
  c.out(t, x.shape);
}

}  // namespace

void register_pointwise_rules(InferTable& t) {
  t.set(Op::pointwise, pointwise_rule);
  t.set(Op::full, full_rule);
  t.set(Op::iota, iota_rule);
  t.set(Op::from_dim, from_dim_rule);
  t.set(Op::random, random_rule);
  t.set(Op::mx_pack, mx_pack_rule);
  t.set(Op::mx_dequantize, mx_dequantize_rule);
}

}  // namespace tern
