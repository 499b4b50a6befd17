// Pointwise expressions, and ops creating tensors.
#include <fmt/format.h>
#include <tern/dtype.h>

#include <cmath>

#include "schema/infer.h"
#include "schema/infer/checks.h"
#include "schema/ops/attributes.h"
#include "schema/ops/costs.h"
#include "schema/ops/families.h"
#include "schema/ops/names.h"

namespace tern::ops {
namespace {

/// Checks attribute `sizes`: at most kMaxRank sizes, none provably negative.
Dims checked_sizes(const Inference& c) {
  const Dims& sizes = c.node.dims(AttrKey::sizes);
  if (sizes.size() > static_cast<std::size_t>(kMaxRank))
    c.fail(fmt::format("rank {} (at most {})", sizes.size(), kMaxRank));
  for (Dim d : sizes) {
    if (c.pool.bounds(d).max < 0) c.fail("negative size " + c.pool.text(d));
  }
  return sizes;
}

/// Fails if operand `i` is a quantized value.
void require_not_quantized(const Inference& c, std::size_t i) {
  if (c.in(i).quantized()) c.fail(fmt::format("operand {} is a quantized value; dequantize it first", i));
}

/// pointwise(x0, x1, ...; sizes): node.expr at every position of the broadcast of all inputs and (if given) `sizes`. An
/// instruction `index` gives the position along an axis of that shape. float4_e2m1fn_x2 does not broadcast, because its
/// elements are not addressable.
void pointwise_rule(Inference& c) {
  Dims shape = checked_sizes(c);
  std::vector<DType> dtypes;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    require_not_quantized(c, i);
    dtypes.push_back(c.in(i).dtype);
    shape = c.broadcast(shape, c.in(i).shape);
  }
  const PointwiseExpr& expr = c.node.expr;
  c.require(!expr.code.empty(), "the expression is empty");
  const DType result = expr.code.back().dtype;
  if (const std::string error = check(expr, dtypes, result); !error.empty()) c.fail(error);
  for (const Instruction& i : expr.code) {
    if (i.op == Scalar::index && static_cast<std::uint64_t>(i.integer) >= shape.size()) {
      c.fail(fmt::format("index {} is outside a result of rank {}", i.integer, shape.size()));
    }
  }
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    if (dtypes[i] != DType::f4_e2m1) continue;
    c.require(c.in(i).shape.size() == shape.size(), "float4 operands do not broadcast");
    for (std::size_t k = 0; k < shape.size(); ++k)
      c.require_equal(c.in(i).shape[k], shape[k], "sizes of a float4 operand");
  }
  c.out(result, std::move(shape));
}

/// full(; sizes, value, dtype): every element is `value`: [real] or [real, imaginary] as numbers, or one integer,
/// possibly symbolic.
void full_rule(Inference& c) {
  if (const auto* numbers = std::get_if<std::vector<double>>(c.node.find(AttrKey::value))) {
    c.require(numbers->size() == 1 || numbers->size() == 2, "attribute 'value' must be one number or a complex one");
  } else {
    c.list(AttrKey::value, 1);
  }
  c.out(c.dtype(), checked_sizes(c));
}

/// iota(; sizes, value, dtype): one axis; element i is start + i * step for `value` = [start, step], numbers or
/// (possibly symbolic) integers. Computed in int64 for integers, in float for float16 and bfloat16, else in double.
void iota_rule(Inference& c) {
  const DType dtype = c.dtype();
  c.require(dtype != DType::boolean && dtype != DType::f4_e2m1, "the dtype is not supported");
  c.out(dtype, checked_sizes(c));
}

/// from_dim(; dim, dtype): the value of a size, as a zero-dimensional tensor.
void from_dim_rule(Inference& c) {
  const DType dtype = c.dtype();
  c.require(dtype != DType::f4_e2m1, "the dtype is not supported");
  c.out(dtype, {});
}

/// random(; kind, sizes, dtype): new numbers in every run, from the session's generator (Philox 4x32-10).
///   uniform      in [0, 1), a floating dtype
///   dropout      in (0, 1], a floating dtype: PyTorch's dropout keeps elements with numbers below 1 - p
///   normal       mean 0, deviation 1, a floating or a complex dtype (of variance 1/2 for each part)
///   exponential  mean 1, above 0; a floating dtype
///   bits         53 random bits as a non-negative int64
///   randint      in [low, high), `range` holding the two; any real dtype
///   poisson      one operand: the rates; result of its shape and type
///   binomial     two operands of one shape and type: counts of trials, and success probabilities
///   gamma        one operand: the shapes, scale 1; result of its shape and type
///   randperm     a permutation of 0..sizes[0]-1, one axis; any real dtype
/// Other distributions derive from these: bernoulli(p) is uniform < p. The numbers of a seed are part of the format:
/// PyTorch's on a CUDA device, as described in kernels/cpu/pointwise/random.cpp, except for randperm and bits.
void random_rule(Inference& c) {
  const std::string& kind = c.node.text(AttrKey::kind);
  const DType dtype = c.dtype();
  Dims sizes = checked_sizes(c);
  const std::size_t operands = kind == "binomial" ? 2 : kind == "poisson" || kind == "gamma" ? 1 : 0;
  c.require(c.input_count() == operands, "the number of operands does not fit the kind");
  for (std::size_t i = 0; i < operands; ++i) {
    parameter(c, i, sizes, "an operand of random");
    c.require(c.in(i).dtype == dtype, "an operand must have the result's dtype");
  }
  c.require(dtype != DType::f4_e2m1, "float4_e2m1fn_x2 is not supported");
  if (kind == "uniform" || kind == "exponential" || kind == "dropout") {
    c.require(is_floating(dtype), "the dtype must be floating");
  } else if (operands > 0) {
    // No further rules: results have the operands' type.
  } else if (kind == "normal") {
    c.require(is_floating(dtype) || is_complex(dtype), "the dtype must be floating or complex");
  } else if (kind == "bits") {
    c.require(dtype == DType::i64, "the dtype must be int64");
  } else if (kind == "randint") {
    c.require(!is_complex(dtype), "the dtype must be real");
    const Dims& range = c.list(AttrKey::range, 2);  // absent for other kinds
    if (range[0].is_const() && range[1].is_const() && range[0].value() >= range[1].value()) {
      c.fail(fmt::format("the range {}..{} is empty", range[0].value(), range[1].value()));
    }
  } else {  // randperm
    c.require(!is_complex(dtype), "the dtype must be real");
    c.require(sizes.size() == 1, "a permutation must have one axis");
  }
  c.out(dtype, std::move(sizes));
}

constexpr AttrRecord kPointwise[] = {
    optional_attribute(AttrKey::sizes, AttrType::dims, "those of the operands", "broadcast with the operands"),
};
constexpr AttrRecord kFull[] = {
    optional_attribute(AttrKey::sizes, AttrType::dims, "no axes", "of the result"),
    required(AttrKey::value, AttrType::dims_or_numbers, "an integer, a number, or a real and an imaginary part"),
    required(AttrKey::dtype, AttrType::dtype, "of the result"),
};
constexpr AttrRecord kIota[] = {
    required(AttrKey::sizes, AttrType::dims, "of the result").exactly(1),
    required(AttrKey::value, AttrType::dims_or_numbers, "start and step").exactly(2),
    required(AttrKey::dtype, AttrType::dtype, "of the result"),
};
constexpr AttrRecord kFromDim[] = {
    required(AttrKey::dim, AttrType::dim, "the value"),
    required(AttrKey::dtype, AttrType::dtype, "of the result"),
};
constexpr AttrRecord kRandom[] = {
    required(AttrKey::kind, AttrType::text, "the distribution").one_of(kRandomNames),
    optional_attribute(AttrKey::sizes, AttrType::dims, "no axes", "of the result"),
    required(AttrKey::dtype, AttrType::dtype, "of the result"),
    optional_attribute(AttrKey::range, AttrType::dims, "not randint",
                       "randint: the least number, and the first one above")
        .exactly(2),
};

constexpr OpRecord kPointwiseOps[] = {
    TERN_OP(10, pointwise, "xs* -> y", "an expression at every position of the broadcast of all operands")
        .attrs(kPointwise)
        .traits_of(Trait::plain, Trait::foldable)
        .costs(pointwise_operations)
        .rule(pointwise_rule),
    TERN_OP(11, full, "-> y", "every element is one value")
        .attrs(kFull)
        .traits_of(Trait::plain, Trait::foldable)
        .rule(full_rule),
    TERN_OP(12, iota, "-> y", "element i is start + i * step")
        .attrs(kIota)
        .traits_of(Trait::plain, Trait::foldable)
        .rule(iota_rule),
    TERN_OP(13, from_dim, "-> y", "the value of a size, as a tensor of no dimensions")
        .attrs(kFromDim)
        .traits_of(Trait::foldable)
        .rule(from_dim_rule),
    TERN_OP(14, random, "a?, b? -> y", "new numbers at every run, by the session's generator")
        .attrs(kRandom)
        .traits_of(Trait::effect, Trait::random)
        .rule(random_rule),
};

}  // namespace

std::span<const OpRecord> pointwise_ops() {
  return kPointwiseOps;
}

}  // namespace tern::ops
