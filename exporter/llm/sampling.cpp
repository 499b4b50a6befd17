#include "exporter/llm/sampling.h"

#include <fmt/format.h>

#include <functional>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exporter/add_body.h"
#include "exporter/llm/session_draw.h"
#include "exporter/lower/pointwise.h"
#include "schema/kinds.h"

namespace tern {
namespace {

/// Candidate counts of topk, far faster than sorting a vocabulary.
constexpr std::int64_t kCandidates[] = {256, 4096};

using SamplingOperands = std::span<const ValueId>;
using SamplingBody = std::function<ValueId(Builder&, SamplingOperands)>;

struct Branch {
  std::string_view name;
  SamplingBody body;
};

ValueId add_cond(Builder& b, ValueId predicate, const std::vector<ValueId>& operands, const Branch& then_branch,
                 const Branch& else_branch) {
  Node n;
  n.op = Op::cond;
  n.inputs = {predicate};
  n.inputs.insert(n.inputs.end(), operands.begin(), operands.end());
  for (const Branch* branch : {&then_branch, &else_branch}) {
    const FillBody fill = [&](Builder& inner, SamplingOperands inner_operands) {
      return std::vector{branch->body(inner, inner_operands)};
    };
    n.functions.push_back(add_body(b, fmt::format("{}.{}", b.function().name, branch->name), operands, fill));
  }
  return b.add(std::move(n)).front();
}

ValueId truth(Builder& b, std::string_view text, std::vector<ExprArg> args, DType compute = DType::f32) {
  return b.expr(text, std::move(args), compute, DType::boolean);
}

// Operands of every body: logits, temperature, top_k, top_p, and optionally seed and draw.
constexpr std::size_t kSeed = 4, kDraw = 5;

/// In [0, 1): float64[].
ValueId uniform(Builder& b, SamplingOperands operands) {
  return operands.size() > kDraw ? session_draw(b, operands[kSeed], operands[kDraw])
                                 : random_value(b, "uniform", {}, DType::f64);
}

/// An index, drawn in proportion to `weights`. Sums are of doubles: those of a large vocabulary lose small weights
/// otherwise.
ValueId draw(Builder& b, ValueId weights, SamplingOperands operands) {
  const Dim n = b.size(weights, 0);
  const ValueId sums = b.add(Op::scan, {weights},
                             {attr(AttrKey::kind, Dim(static_cast<std::int64_t>(ScanKind::cumsum))),
                              attr(AttrKey::axis, Dim(0)), attr_dtype(DType::f64)});
  const ValueId total = b.select(sums, 0, b.pool().sub(n, 1));
  const ValueId u = uniform(b, operands);
  const ValueId is_before = truth(b, "s <= u * t", {{"s", sums}, {"u", u}, {"t", total}}, DType::f64);
  const ValueId count = b.reduce(b.cast(is_before, DType::i64), "sum", {0}, false, DType::i64);
  return b.expr("min(c, last)", {{"c", count}, {"last", static_cast<double>(n.value() - 1)}}, DType::i64);
}

ValueId greedy(Builder& b, SamplingOperands operands) {
  return b.reduce(operands[0], "argmax", {0}, false, DType::i64);
}

ValueId token_weights(Builder& b, ValueId logits, ValueId largest, ValueId temperature) {
  return b.expr("exp((x - m) / t)", {{"x", logits}, {"m", largest}, {"t", temperature}}, DType::f32);
}

ValueId draw_unlimited(Builder& b, SamplingOperands operands) {
  const ValueId largest = b.reduce(operands[0], "max", {0}, false, DType::f32);
  return draw(b, token_weights(b, operands[0], largest, operands[1]), operands);
}

/// Of logits in falling order: `sum` is that of all weights.
ValueId draw_from_sorted(Builder& b, ValueId logits, ValueId tokens, ValueId sum, SamplingOperands operands) {
  const ValueId t = operands[1], k = operands[2], p = operands[3];
  const ValueId w = b.cast(token_weights(b, logits, b.select(logits, 0, 0), t), DType::f64);
  const ValueId rank = b.iota(b.size(logits, 0), DType::i64);
  const ValueId retained = truth(b, "k == 0 || rank < k", {{"k", k}, {"rank", rank}}, DType::i64);
  const ValueId limited = b.expr("kept ? w : 0", {{"kept", retained}, {"w", w}}, DType::f64);
  const ValueId limited_sum = b.reduce(limited, "sum", {0}, false, DType::f64);
  const ValueId total = b.expr("k == 0 ? s : o", {{"k", k}, {"s", sum}, {"o", limited_sum}}, DType::f64);
  const ValueId sums = b.add(Op::scan, {limited},
                             {attr(AttrKey::kind, Dim(static_cast<std::int64_t>(ScanKind::cumsum))),
                              attr(AttrKey::axis, Dim(0)), attr_dtype(DType::f64)});
  const ValueId weights = b.expr("p >= 1 || s - w < p * total ? w : 0",
                                 {{"p", p}, {"s", sums}, {"w", limited}, {"total", total}}, DType::f64);
  const ValueId index = b.reshape(draw(b, weights, operands), {1});
  return b.reshape(b.gather(tokens, index, 0), {});
}

ValueId sum_of(Builder& b, ValueId weights) {
  return b.reduce(b.cast(weights, DType::f64), "sum", {0}, false, DType::f64);
}

ValueId all_sorted(Builder& b, SamplingOperands operands) {
  const std::vector<ValueId> sorted =
      b.add_all(Op::sort, {operands[0]},
                {attr(AttrKey::axis, Dim(0)), attr(AttrKey::descending, Dim(1)), attr(AttrKey::stable, Dim(1))});
  const ValueId sum = sum_of(b, token_weights(b, operands[0], b.select(sorted[0], 0, 0), operands[1]));
  return draw_from_sorted(b, sorted[0], sorted[1], sum, operands);
}

/// The most likely tokens decide if top_k is among them, or if together they reach top_p. Else more of them are taken,
/// in the end all.
ValueId draw_limited(Builder& b, SamplingOperands sampling_operands, std::size_t step) {
  const Dim n = b.size(sampling_operands[0], 0);
  if (step == std::size(kCandidates) || n.value() <= kCandidates[step]) return all_sorted(b, sampling_operands);
  const std::int64_t candidates = kCandidates[step];
  const ValueId t = sampling_operands[1], k = sampling_operands[2], p = sampling_operands[3];
  const std::vector<ValueId> top_candidates =
      b.add_all(Op::topk, {sampling_operands[0]}, {attr(AttrKey::axis, Dim(0)), attr(AttrKey::k, Dim(candidates))});
  const ValueId largest = b.select(top_candidates[0], 0, 0);
  const ValueId sum = sum_of(b, token_weights(b, sampling_operands[0], largest, t));
  const ValueId partial_sum = sum_of(b, token_weights(b, top_candidates[0], largest, t));
  const ValueId reaches_p = truth(b, "part >= p * sum", {{"part", partial_sum}, {"p", p}, {"sum", sum}}, DType::f64);
  const ValueId is_enough =
      truth(b, "k == 0 ? reached : k <= c",
            {{"k", k}, {"reached", b.cast(reaches_p, DType::i64)}, {"c", static_cast<double>(candidates)}}, DType::i64);
  std::vector<ValueId> operands(sampling_operands.begin(), sampling_operands.end());
  operands.insert(operands.end(), {top_candidates[0], top_candidates[1], sum});
  const std::size_t operand_count = sampling_operands.size();
  return add_cond(b, is_enough, operands,
                  {"candidates",
                   [operand_count](Builder& x, SamplingOperands v) {
                     return draw_from_sorted(x, v[operand_count], v[operand_count + 1], v[operand_count + 2],
                                             v.first(operand_count));
                   }},
                  {"more", [operand_count, step](Builder& x, SamplingOperands v) {
                     return draw_limited(x, v.first(operand_count), step + 1);
                   }});
}

ValueId drawn(Builder& b, SamplingOperands operands) {
  const ValueId is_unlimited = truth(
      b, "(k == 0 || k >= n) && p >= 1",
      {{"k", operands[2]}, {"n", static_cast<double>(b.size(operands[0], 0).value())}, {"p", operands[3]}}, DType::f64);
  return add_cond(b, is_unlimited, {operands.begin(), operands.end()}, {"all", draw_unlimited},
                  {"limited", [](Builder& x, SamplingOperands v) { return draw_limited(x, v, 0); }});
}

}  // namespace

void add_sampling_checks(Builder& b, const SamplingInputs& inputs) {
  const auto check = [&](ValueId right, std::string_view message) {
    b.add_all(Op::assert_true, {right}, {attr_text(AttrKey::text, message)});
  };
  check(truth(b, "t >= 0 && t < inf", {{"t", inputs.temperature}}),
        "temperature must be a finite number from 0; 0 takes the most likely token");
  check(truth(b, "k >= 0", {{"k", inputs.top_k}}, DType::i64), "top_k must be 0 or more; 0 keeps all tokens");
  check(truth(b, "p > 0 && p <= 1", {{"p", inputs.top_p}}), "top_p must be above 0 and at most 1; 1 keeps all tokens");
}

ValueId add_sampling(Builder& b, ValueId logits, const SamplingInputs& inputs) {
  const ValueId most_likely = truth(b, "t == 0", {{"t", inputs.temperature}});
  std::vector<ValueId> operands = {logits, inputs.temperature, inputs.top_k, inputs.top_p};
  if (inputs.seed != kNoValue) operands.insert(operands.end(), {inputs.seed, inputs.draw});
  return add_cond(b, most_likely, operands, {"greedy", greedy}, {"drawn", drawn});
}

}  // namespace tern
