// Lowerings of scaled dot product attention and the variants that decompositions name.
#include "exporter/gradients/apply_rule.h"
#include "exporter/lower/contraction.h"
#include "exporter/lower/dropout.h"
#include "exporter/lower/movement.h"
#include "exporter/lower/repeated_heads.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

struct AttentionOperands {
  ValueId q, k, v, mask;
};

AttentionOperands operands(Builder& b, const Call& c, ArgumentName mask) {
  AttentionOperands operands_in{c.tensor("query"), c.tensor("key"), c.tensor("value"),
                                mask.empty() ? kNoValue : c.tensor_or_none(mask)};
  const int rank = std::max({b.rank(operands_in.q), b.rank(operands_in.k), b.rank(operands_in.v)});
  operands_in.q = expand_rank(b, operands_in.q, rank);
  operands_in.k = expand_rank(b, operands_in.k, rank);
  operands_in.v = expand_rank(b, operands_in.v, rank);
  if (rank < 3) return operands_in;
  // The op lets heads of q share heads of k; a single head of q among many of k is broadcasting.
  Dims q = b.shape(operands_in.q);
  if (q[static_cast<std::size_t>(rank - 3)].is(1)) {
    q[static_cast<std::size_t>(rank - 3)] = b.size(operands_in.k, rank - 3);
    operands_in.q = b.expand(operands_in.q, q);
  }
  const auto match = [&](ValueId v, ValueId reference) {
    Dims s = b.shape(v);
    if (!s[static_cast<std::size_t>(rank - 3)].is(1) || b.size(reference, rank - 3).is(1)) return v;
    s[static_cast<std::size_t>(rank - 3)] = b.size(reference, rank - 3);
    return b.expand(v, s);
  };
  operands_in.k = match(operands_in.k, operands_in.v);
  operands_in.v = match(operands_in.v, operands_in.k);
  return operands_in;
}

/// Reads the operands of a decomposed variant. Dropout is refused: the results lack the dropout mask, and the backward
/// pass needs the mask.
AttentionOperands operands_without_dropout(Builder& b, const Call& c, ArgumentName mask) {
  if (c.number_or("dropout_p", 0.0) != 0.0)
    c.unsupported("the decomposed attention has dropout; export without run_decompositions, or in eval mode");
  return operands(b, c, mask);
}

std::vector<Attr> attributes(const Call& c) {
  std::vector<Attr> attrs{attr(AttrKey::causal, Dim(c.flag_or("is_causal", false) ? 1 : 0))};
  if (c.has_argument("scale")) attrs.push_back(attr_number(AttrKey::scale, c.number("scale")));
  return attrs;
}

/// Reads keys and values in place instead of copying them for each query head; copies would cover the whole cache.
ValueId attend(Builder& b, const Call& c, const AttentionOperands& operands_in) {
  ValueId k = before_repeating_heads(b, operands_in.k), v = before_repeating_heads(b, operands_in.v);
  if (k == kNoValue || v == kNoValue || !(b.size(k, -3) == b.size(v, -3))) {
    k = operands_in.k;
    v = operands_in.v;
  }
  return b.add(Op::attention, {operands_in.q, k, v, operands_in.mask}, attributes(c));
}

/// Repeats the keys or values shared by several query heads, once per head.
ValueId repeated(Builder& b, ValueId x, ValueId q) {
  const int rank = b.rank(q);
  if (rank < 3 || b.size(x, -3) == b.size(q, -3) || b.size(x, -3).is(1)) return x;
  Dims grouped = b.shape(x), merged = b.shape(x);
  grouped.insert(grouped.end() - 2, b.pool().floordiv(b.size(q, -3), b.size(x, -3)));
  merged[static_cast<std::size_t>(rank - 3)] = b.size(q, -3);
  return b.reshape(b.expand(b.unsqueeze(x, -3), grouped), merged);
}

/// Scores of every query and key, masked, in the wider type.
ValueId scores(Builder& b, const Call& c, const AttentionOperands& operands_in) {
  const DType compute_dtype = compute_type(b.dtype(operands_in.q));
  const ValueId s =
      product(b, operands_in.q, b.transpose(repeated(b, operands_in.k, operands_in.q), -1, -2), compute_dtype);
  const ValueId width = b.from_dim(b.size(operands_in.q, -1));
  const double scale = c.has_argument("scale") ? c.number("scale") : 0.0;
  const std::string scaled = c.has_argument("scale") ? "s * scale" : "s / sqrt(n)";
  const auto r = static_cast<int>(b.rank(s));
  const std::string visible = c.flag_or("is_causal", false)
                                  ? "index(" + std::to_string(r - 1) + ") <= index(" + std::to_string(r - 2) + ")"
                                  : "true";
  std::vector<ExprArg> args{{"s", s}};
  if (c.has_argument("scale")) {
    args.emplace_back("scale", scale);
  } else {
    args.emplace_back("n", width);
  }
  if (operands_in.mask == kNoValue)
    return b.expr(visible == "true" ? scaled : visible + " ? " + scaled + " : -inf", args, compute_dtype,
                  compute_dtype);
  args.emplace_back("m", operands_in.mask);
  const std::string masked =
      b.dtype(operands_in.mask) == DType::boolean ? "m ? " + scaled + " : -inf" : scaled + " + m";
  return b.expr(visible == "true" ? masked : visible + " ? (" + masked + ") : -inf", args, compute_dtype,
                compute_dtype);
}

ValueId logsumexp(Builder& b, ValueId s) {
  const DType t = b.dtype(s);
  const ValueId max = b.reduce(s, "max", {-1}, true, t);
  const ValueId sum = b.reduce(b.expr("exp(s - m)", {{"s", s}, {"m", max}}, t), "sum", {-1}, true, t);
  return b.squeeze(b.expr("m == -inf ? 0 : m + log(x)", {{"m", max}, {"x", sum}}, t), -1);
}

/// Probabilities of the scores; zeros for a query without visible keys.
ValueId probabilities(Builder& b, ValueId s, DType result) {
  const DType t = b.dtype(s);
  const ValueId max = b.reduce(s, "max", {-1}, true, t);
  const ValueId e = b.expr("m == -inf ? 0 : exp(s - m)", {{"s", s}, {"m", max}}, t);
  const ValueId sum = b.reduce(e, "sum", {-1}, true, t);
  return b.expr("z == 0 ? 0 : e / z", {{"e", e}, {"z", sum}}, t, result);
}

Values sdpa(Builder& b, const Call& c) {
  const double p = c.number_or("dropout_p", 0.0);
  if (p == 0) return {attend(b, c, operands_without_dropout(b, c, "attn_mask"))};
  const AttentionOperands operands_in = operands(b, c, "attn_mask");
  const ValueId retained = dropped(b, probabilities(b, scores(b, c, operands_in), b.dtype(operands_in.q)), 1 - p);
  return {b.cast(product(b, retained, repeated(b, operands_in.v, operands_in.q), compute_type(b.dtype(operands_in.q))),
                 b.dtype(operands_in.q))};
}

Values sdpa_math(Builder& b, const Call& c) {
  const AttentionOperands operands_in = operands_without_dropout(b, c, "attn_mask");
  return {attend(b, c, operands_in), probabilities(b, scores(b, c, operands_in), b.dtype(operands_in.q))};
}

Values flash_cpu(Builder& b, const Call& c) {
  const AttentionOperands operands_in = operands_without_dropout(b, c, "attn_mask");
  return {attend(b, c, operands_in), logsumexp(b, scores(b, c, operands_in))};
}

Values flash_cpu_backward(Builder& b, const Call& c) {
  const AttentionOperands operands_in = operands_without_dropout(b, c, "attn_mask");
  Node n;
  n.op = Op::attention;
  n.inputs = {operands_in.q, operands_in.k, operands_in.v, operands_in.mask};
  n.attrs = attributes(c);
  Values r = apply_gradient_rule(b, n, {c.tensor("grad_out")}, {true, true, true, false});
  r.pop_back();  // the mask has no gradient
  return r;
}

/// The CUDA kernels' further results only serve their backward passes.
Values flash(Builder& b, const Call& c) {
  const AttentionOperands operands_in = operands_without_dropout(b, c, {});
  Values r{attend(b, c, operands_in), logsumexp(b, scores(b, c, operands_in))};
  r.resize(9, kNoValue);
  return r;
}

Values efficient(Builder& b, const Call& c) {
  const AttentionOperands operands_in = operands_without_dropout(b, c, "attn_bias");
  return {attend(b, c, operands_in), logsumexp(b, scores(b, c, operands_in)), kNoValue, kNoValue};
}

constexpr Lowering kAttentionLowerings[] = {
    {"aten.scaled_dot_product_attention.default", sdpa},
    {"aten._scaled_dot_product_attention_math.default", sdpa_math},
    {"aten._scaled_dot_product_flash_attention_for_cpu.default", flash_cpu},
    {"aten._scaled_dot_product_flash_attention_for_cpu_backward.default", flash_cpu_backward},
    {"aten._scaled_dot_product_flash_attention.default", flash},
    {"aten._scaled_dot_product_efficient_attention.default", efficient},
};

}  // namespace

std::span<const Lowering> attention_lowerings() {
  return kAttentionLowerings;
}

}  // namespace tern
