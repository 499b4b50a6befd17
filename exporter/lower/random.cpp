// Random tensors, and random operators such as dropout. The session's generator supplies the numbers.
#include <array>
#include <cmath>

#include "exporter/lower/dropout.h"
#include "exporter/lower/pointwise.h"
#include "schema/kinds.h"

namespace tern {
namespace {

Values sized(Builder& b, const Call& c, std::string_view kind) {
  return {random_value(b, kind, c.dims("size"), c.result_dtype())};
}
Values random_like(Builder& b, const Call& c, std::string_view kind) {
  return {random_value(b, kind, b.shape(c.tensor("self")), c.result_dtype())};
}
Values rand(Builder& b, const Call& c) {
  return sized(b, c, "uniform");
}
Values randn(Builder& b, const Call& c) {
  return sized(b, c, "normal");
}
Values rand_like(Builder& b, const Call& c) {
  return random_like(b, c, "uniform");
}
Values randn_like(Builder& b, const Call& c) {
  return random_like(b, c, "normal");
}

ValueId integers(Builder& b, Dims sizes, Dim low, Dim high, DType dtype) {
  return b.add(Op::random, {},
               {attr_text(AttrKey::kind, "randint"), attr(AttrKey::sizes, std::move(sizes)),
                attr(AttrKey::range, Dims{low, high}), attr_dtype(dtype)});
}
Values randint(Builder& b, const Call& c) {
  return {integers(b, c.dims("size"), 0, c.dim("high"), c.result_dtype())};
}
Values randint_low(Builder& b, const Call& c) {
  return {integers(b, c.dims("size"), c.dim("low"), c.dim("high"), c.result_dtype())};
}
Values randint_like(Builder& b, const Call& c) {
  return {integers(b, b.shape(c.tensor("self")), 0, c.dim("high"), c.result_dtype())};
}
Values randint_like_low(Builder& b, const Call& c) {
  return {integers(b, b.shape(c.tensor("self")), c.dim("low"), c.dim("high"), c.result_dtype())};
}
/// Integers up to the dtype's largest consecutive integer.
Values random_any(Builder& b, const Call& c) {
  const ValueId self = c.tensor("self");
  const DType t = c.result_dtype();
  const int bits = t == DType::f64    ? 53
                   : t == DType::f32  ? 24
                   : t == DType::f16  ? 11
                   : t == DType::bf16 ? 8
                                      : 8 * element_size(t) - (is_signed_integer(t) || t == DType::u64 ? 1 : 0);
  const std::int64_t high = t == DType::boolean ? 2 : bits >= 63 ? INT64_MAX : std::int64_t{1} << bits;
  return {integers(b, b.shape(self), c.args[1].first == "from" ? c.dim("from") : Dim(0),
                   c.args[1].first != "generator" && c.has_argument("to") ? c.dim("to") : Dim(high), t)};
}
Values randperm(Builder& b, const Call& c) {
  return {random_value(b, "randperm", {c.dim("n")}, c.result_dtype())};
}

/// The type to draw in for a result of type `t`.
DType draw_type(DType t) {
  return t == DType::f64 || t == DType::c128 ? DType::f64 : DType::f32;
}

ValueId draw_like(Builder& b, const Call& c, std::string_view kind, ValueId random_like) {
  return random_value(b, kind, b.shape(random_like), draw_type(c.result_dtype()));
}

Values bernoulli(Builder& b, const Call& c) {
  const ValueId p = c.tensor("self");
  return {b.expr("u < p", {{"u", draw_like(b, c, "uniform", p)}, {"p", p}}, draw_type(b.dtype(p)), c.result_dtype())};
}
Values bernoulli_p(Builder& b, const Call& c) {
  const ValueId u = draw_like(b, c, "uniform", c.tensor("self"));
  return {b.expr("u < p", {{"u", u}, expr_arg(b, c, "p")}, DType::f32, c.result_dtype())};
}

/// Evaluates `text` over a draw `u` of the given kind and the call's numbers, in the shape and dtype of self.
Values transformed(Builder& b, const Call& c, std::string_view kind, std::string_view text,
                   std::initializer_list<std::string_view> numbers) {
  const ValueId self = c.tensor("self");
  std::vector<ExprArg> args = {{"u", draw_like(b, c, kind, self)}};
  for (std::string_view n : numbers) args.push_back(expr_arg(b, c, n));
  return {b.expr(text, std::move(args), draw_type(c.result_dtype()), c.result_dtype())};
}
Values uniform(Builder& b, const Call& c) {
  return transformed(b, c, "uniform", "u * (to - from) + from", {"from", "to"});
}
Values normal_self(Builder& b, const Call& c) {
  return transformed(b, c, "normal", "u * std + mean", {"mean", "std"});
}
Values log_normal(Builder& b, const Call& c) {
  return transformed(b, c, "normal", "exp(u * std + mean)", {"mean", "std"});
}
Values exponential(Builder& b, const Call& c) {
  return transformed(b, c, "exponential", "u / lambd", {"lambd"});
}
Values geometric(Builder& b, const Call& c) {
  return transformed(b, c, "exponential", "ceil(-u / log1p(-p))", {"p"});
}
Values cauchy(Builder& b, const Call& c) {
  return transformed(b, c, "uniform", "median + sigma * tan(pi * (u - 0.5))", {"median", "sigma"});
}
Values normal(Builder& b, const Call& c) {
  const ExprArg mean = expr_arg(b, c, "mean");
  const ExprArg std = expr_arg(b, c, "std");
  Dims shape = mean.value != kNoValue ? b.shape(mean.value) : Dims{};
  if (mean.value != kNoValue && std.value != kNoValue) {
    shape = b.shape(b.expr("mean + std", {mean, std}, DType::f32, DType::f32));
  } else if (std.value != kNoValue) {
    shape = b.shape(std.value);
  }
  const ValueId u = random_value(b, "normal", shape, draw_type(c.result_dtype()));
  return {b.expr("u * std + mean", {{"u", u}, mean, std}, c.result_dtype())};
}
Values normal_sized(Builder& b, const Call& c) {
  const ValueId u = random_value(b, "normal", c.dims("size"), draw_type(c.result_dtype()));
  return {b.expr("u * std + mean", {{"u", u}, expr_arg(b, c, "mean"), expr_arg(b, c, "std")}, c.result_dtype())};
}

/// Keeps elements with u < 1 - p and scales them to preserve the mean. `mask` marks the kept elements.
struct Dropped {
  ValueId value, mask;
};
Dropped drop(Builder& b, ValueId x, std::string_view kind, double keep_probability, Dims mask_sizes, DType result) {
  if (keep_probability <= 0) {  // draws no numbers
    return {b.full(b.shape(x), 0.0, result), b.full(std::move(mask_sizes), 0.0, DType::boolean)};
  }
  const ValueId u = random_value(b, kind, std::move(mask_sizes), DType::f32);
  const ValueId mask = b.expr("u < keep", {{"u", u}, {"keep", keep_probability}}, draw_type(result), DType::boolean);
  const double scale = 1 / keep_probability;
  return {b.expr("mask ? x * scale : 0", {{"mask", mask}, {"x", x}, {"scale", scale}}, result), mask};
}
Dropped drop(Builder& b, const Call& c, ValueId x, std::string_view kind, double keep_probability, Dims mask_sizes) {
  return drop(b, x, kind, keep_probability, std::move(mask_sizes), c.result_dtype());
}

Values dropout(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input");
  const double p = c.number("p");
  if (!c.flag("train") || p == 0) return {x};
  return {drop(b, c, x, "dropout", 1 - p, b.shape(x)).value};
}
/// Here p is the chance to stay, and the mask holds bytes.
Values fused_dropout(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const Dropped d = drop(b, c, x, "dropout", c.number("p"), b.shape(x));
  return {d.value, b.cast(d.mask, c.result_dtype(1))};
}
/// Drops whole channels.
Values feature_dropout(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input");
  const double p = c.number("p");
  if (!c.flag("train") || p == 0) return {x};
  if (b.rank(x) < 2) c.unsupported("the input needs a batch and a channel axis");
  Dims sizes(static_cast<std::size_t>(b.rank(x)), 1);
  sizes[0] = b.size(x, 0);
  sizes[1] = b.size(x, 1);
  return {drop(b, c, x, "uniform", 1 - p, std::move(sizes)).value};
}
Values native_dropout(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input");
  const double p = c.number("p");
  if (!c.flag_or("train", true)) return {x, b.full(b.shape(x), 1.0, DType::boolean)};
  const Dropped d = drop(b, c, x, "dropout", 1 - p, b.shape(x));
  return {d.value, d.mask};
}
/// Keeps mean and variance of self-normalising networks: dropped elements take SELU's lower bound.
Values alpha_dropout(Builder& b, const Call& c, Dims mask_sizes) {
  const ValueId x = c.tensor("input");
  const double p = c.number("p");
  if (!c.flag("train") || p == 0) return {x};
  constexpr double alpha = 1.7580993408473766;
  const double a = p < 1 ? 1 / std::sqrt((alpha * alpha * p + 1) * (1 - p)) : 0;
  const ValueId u = random_value(b, "uniform", std::move(mask_sizes), DType::f32);
  return {b.expr("u < keep ? x * a + low * (1 - keep) : -low * keep",
                 {{"u", u}, {"x", x}, {"keep", 1 - p}, {"a", a}, {"low", alpha * a}}, c.result_dtype())};
}
Values alpha_dropout_each(Builder& b, const Call& c) {
  return alpha_dropout(b, c, b.shape(c.tensor("input")));
}
Values alpha_dropout_features(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input");
  if (!c.flag("train")) return {x};
  if (b.rank(x) < 2) c.unsupported("the input needs a batch and a channel axis");
  Dims sizes(static_cast<std::size_t>(b.rank(x)), 1);
  sizes[0] = b.size(x, 0);
  sizes[1] = b.size(x, 1);
  return alpha_dropout(b, c, std::move(sizes));
}

/// Draws numbers distributed by the operands' elements.
ValueId sampled(Builder& b, std::string_view kind, std::vector<ValueId> operands) {
  const Dims sizes = b.shape(operands[0]);
  const DType t = b.dtype(operands[0]);
  return b.add(Op::random, std::move(operands),
               {attr_text(AttrKey::kind, kind), attr(AttrKey::sizes, sizes), attr_dtype(t)});
}
Values poisson(Builder& b, const Call& c) {
  return {sampled(b, "poisson", {c.tensor("self")})};
}
Values binomial(Builder& b, const Call& c) {
  const ValueId count = c.tensor("count"), chance = b.cast(c.tensor("prob"), b.dtype(count));
  const Dims shape = b.shape(b.expr("n + p", {{"n", count}, {"p", chance}}, b.dtype(count)));
  return {sampled(b, "binomial", {b.expand(count, shape), b.expand(chance, shape)})};
}
Values standard_gamma(Builder& b, const Call& c) {
  return {sampled(b, "gamma", {c.tensor("self")})};
}
Values dirichlet(Builder& b, const Call& c) {
  const ValueId g = sampled(b, "gamma", {c.tensor("self")});
  const DType t = b.dtype(g);
  return {b.expr("g / sum", {{"g", g}, {"sum", b.reduce(g, "sum", {b.rank(g) - 1}, true, t)}}, t)};
}

/// Draws without replacement take the largest p / e for exponential e, a draw by weight (Efraimidis and Spirakis).
/// Draws with replacement take the position of a uniform number in the running sums.
Values multinomial(Builder& b, const Call& c) {
  const ValueId p = c.tensor("self");
  const std::int64_t last = b.rank(p) - 1;
  const Dim samples = c.dim("num_samples");
  if (!c.flag_or("replacement", false) || samples.is(1)) {
    const ValueId e = random_value(b, "exponential", b.shape(p), DType::f32);
    const ValueId keys = b.expr("p / e", {{"p", p}, {"e", e}}, DType::f32, DType::f32);
    return {b.add_all(Op::topk, {keys},
                      {attr(AttrKey::axis, last), attr(AttrKey::k, samples), attr(AttrKey::largest, Dim(1))})[1]};
  }
  const ValueId sums = b.add(Op::scan, {b.cast(p, DType::f64)},
                             {attr(AttrKey::kind, Dim(static_cast<int>(ScanKind::cumsum))), attr(AttrKey::axis, last)});
  Dims sizes = b.shape(p);
  sizes.back() = samples;
  const ValueId u = b.expr("u * total",
                           {{"u", random_value(b, "uniform", std::move(sizes), DType::f64)},
                            {"total", b.slice(sums, last, b.pool().sub(b.size(p, last), 1), 1)}},
                           DType::f64, DType::f64);
  return {b.add(Op::searchsorted, {sums, u}, {attr(AttrKey::right, Dim(1))})};
}

constexpr std::array kRandomLowerings = {
    Lowering{"aten.rand.default", rand},
    Lowering{"aten.randn.default", randn},
    Lowering{"aten.rand_like.default", rand_like},
    Lowering{"aten.randn_like.default", randn_like},
    Lowering{"aten.randint.default", randint},
    Lowering{"aten.randint.low", randint_low},
    Lowering{"aten.randint_like.default", randint_like},
    Lowering{"aten.randint_like.low_dtype", randint_like_low},
    Lowering{"aten.randperm.default", randperm},
    Lowering{"aten.random.default", random_any},
    Lowering{"aten.random.from", random_any},
    Lowering{"aten.random.to", random_any},
    Lowering{"aten.bernoulli.default", bernoulli},
    Lowering{"aten.bernoulli.p", bernoulli_p},
    Lowering{"aten.bernoulli.Tensor", bernoulli_p},
    Lowering{"aten.uniform.default", uniform},
    Lowering{"aten.normal_functional.default", normal_self},
    Lowering{"aten.normal.Tensor_Tensor", normal},
    Lowering{"aten.normal.Tensor_float", normal},
    Lowering{"aten.normal.float_Tensor", normal},
    Lowering{"aten.normal.float_float", normal_sized},
    Lowering{"aten.log_normal.default", log_normal},
    Lowering{"aten.exponential.default", exponential},
    Lowering{"aten.geometric.default", geometric},
    Lowering{"aten.cauchy.default", cauchy},
    Lowering{"aten.dropout.default", dropout},
    Lowering{"aten._fused_dropout.default", fused_dropout},
    Lowering{"aten.feature_dropout.default", feature_dropout},
    Lowering{"aten.native_dropout.default", native_dropout},
    Lowering{"aten.alpha_dropout.default", alpha_dropout_each},
    Lowering{"aten.feature_alpha_dropout.default", alpha_dropout_features},
    Lowering{"aten.multinomial.default", multinomial},
    Lowering{"aten.poisson.default", poisson},
    Lowering{"aten.binomial.default", binomial},
    Lowering{"aten._standard_gamma.default", standard_gamma},
    Lowering{"aten._sample_dirichlet.default", dirichlet},
};

}  // namespace

ValueId dropped(Builder& b, ValueId x, double keep_probability) {
  return drop(b, x, "dropout", keep_probability, b.shape(x), b.dtype(x)).value;
}

std::span<const Lowering> random_lowerings() {
  return kRandomLowerings;
}

}  // namespace tern
