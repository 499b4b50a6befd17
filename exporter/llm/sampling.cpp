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

ValueId add_cond(Builder& b, ValueId predicate, const std::vector<ValueId>& operands, const Branch& yes,
                 const Branch& no) {
  Node n;
  n.op = Op::cond;
  n.inputs = {predicate};
  n.inputs.insert(n.inputs.end(), operands.begin(), operands.end());
  for (const Branch* branch : {&yes, &no}) {
    const FillBody fill = [&](Builder& inner, SamplingOperands in) { return std::vector{branch->body(inner, in)}; };
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
ValueId uniform(Builder& b, SamplingOperands in) {
  return in.size() > kDraw ? session_draw(b, in[kSeed], in[kDraw]) : random_value(b, "uniform", {}, DType::f64);
}

/// An index, drawn in proportion to `weights`. Sums are of doubles: those of a large vocabulary lose small weights
/// otherwise.
ValueId draw(Builder& b, ValueId weights, SamplingOperands in) {
  const Dim n = b.size(weights, 0);
  const ValueId sums = b.add(Op::scan, {weights},
                             {attr(AttrKey::kind, Dim(static_cast<std::int64_t>(ScanKind::cumsum))),
                              attr(AttrKey::axis, Dim(0)), attr_dtype(DType::f64)});
  const ValueId total = b.select(sums, 0, b.pool().sub(n, 1));
  const ValueId u = uniform(b, in);
  const ValueId before = truth(b, "s <= u * t", {{"s", sums}, {"u", u}, {"t", total}}, DType::f64);
  const ValueId count = b.reduce(b.cast(before, DType::i64), "sum", {0}, false, DType::i64);
  return b.expr("min(c, last)", {{"c", count}, {"last", static_cast<double>(n.value() - 1)}}, DType::i64);
}

ValueId greedy(Builder& b, SamplingOperands in) {
  return b.reduce(in[0], "argmax", {0}, false, DType::i64);
}

ValueId token_weights(Builder& b, ValueId logits, ValueId largest, ValueId temperature) {
  return b.expr("exp((x - m) / t)", {{"x", logits}, {"m", largest}, {"t", temperature}}, DType::f32);
}

ValueId draw_unlimited(Builder& b, SamplingOperands in) {
  const ValueId largest = b.reduce(in[0], "max", {0}, false, DType::f32);
  return draw(b, token_weights(b, in[0], largest, in[1]), in);
}

/// Of logits in falling order: `sum` is that of all weights.
ValueId draw_from_sorted(Builder& b, ValueId logits, ValueId tokens, ValueId sum, SamplingOperands in) {
  const ValueId t = in[1], k = in[2], p = in[3];
  const ValueId w = b.cast(token_weights(b, logits, b.select(logits, 0, 0), t), DType::f64);
  const ValueId rank = b.iota(b.size(logits, 0), DType::i64);
  const ValueId retained = truth(b, "k == 0 || rank < k", {{"k", k}, {"rank", rank}}, DType::i64);
  const ValueId limited = b.expr("kept ? w : 0", {{"kept", retained}, {"w", w}}, DType::f64);
  const ValueId own = b.reduce(limited, "sum", {0}, false, DType::f64);
  const ValueId total = b.expr("k == 0 ? s : o", {{"k", k}, {"s", sum}, {"o", own}}, DType::f64);
  const ValueId sums = b.add(Op::scan, {limited},
                             {attr(AttrKey::kind, Dim(static_cast<std::int64_t>(ScanKind::cumsum))),
                              attr(AttrKey::axis, Dim(0)), attr_dtype(DType::f64)});
  const ValueId weights = b.expr("p >= 1 || s - w < p * total ? w : 0",
                                 {{"p", p}, {"s", sums}, {"w", limited}, {"total", total}}, DType::f64);
  const ValueId index = b.reshape(draw(b, weights, in), {1});
  return b.reshape(b.gather(tokens, index, 0), {});
}

ValueId sum_of(Builder& b, ValueId weights) {
  return b.reduce(b.cast(weights, DType::f64), "sum", {0}, false, DType::f64);
}

ValueId all_sorted(Builder& b, SamplingOperands in) {
  const std::vector<ValueId> sorted =
      b.add_all(Op::sort, {in[0]},
                {attr(AttrKey::axis, Dim(0)), attr(AttrKey::descending, Dim(1)), attr(AttrKey::stable, Dim(1))});
  const ValueId sum = sum_of(b, token_weights(b, in[0], b.select(sorted[0], 0, 0), in[1]));
  return draw_from_sorted(b, sorted[0], sorted[1], sum, in);
}

/// The most likely tokens decide if top_k is among them, or if together they reach top_p. Else more of them are taken,
/// in the end all.
ValueId draw_limited(Builder& b, SamplingOperands in, std::size_t step) {
  const Dim n = b.size(in[0], 0);
  if (step == std::size(kCandidates) || n.value() <= kCandidates[step]) return all_sorted(b, in);
  const std::int64_t candidates = kCandidates[step];
  const ValueId t = in[1], k = in[2], p = in[3];
  const std::vector<ValueId> best =
      b.add_all(Op::topk, {in[0]}, {attr(AttrKey::axis, Dim(0)), attr(AttrKey::k, Dim(candidates))});
  const ValueId largest = b.select(best[0], 0, 0);
  const ValueId sum = sum_of(b, token_weights(b, in[0], largest, t));
  const ValueId partial_sum = sum_of(b, token_weights(b, best[0], largest, t));
  const ValueId reached = truth(b, "part >= p * sum", {{"part", partial_sum}, {"p", p}, {"sum", sum}}, DType::f64);
  const ValueId enough =
      truth(b, "k == 0 ? reached : k <= c",
            {{"k", k}, {"reached", b.cast(reached, DType::i64)}, {"c", static_cast<double>(candidates)}}, DType::i64);
  std::vector<ValueId> operands(in.begin(), in.end());
  operands.insert(operands.end(), {best[0], best[1], sum});
  const std::size_t own = in.size();
  return add_cond(
      b, enough, operands,
      {"candidates",
       [own](Builder& x, SamplingOperands v) {
         return draw_from_sorted(x, v[own], v[own + 1], v[own + 2], v.first(own));
       }},
      {"more", [own, step](Builder& x, SamplingOperands v) { return draw_limited(x, v.first(own), step + 1); }});
}

ValueId drawn(Builder& b, SamplingOperands in) {
  const ValueId free =
      truth(b, "(k == 0 || k >= n) && p >= 1",
            {{"k", in[2]}, {"n", static_cast<double>(b.size(in[0], 0).value())}, {"p", in[3]}}, DType::f64);
  return add_cond(b, free, {in.begin(), in.end()}, {"all", draw_unlimited},
                  {"limited", [](Builder& x, SamplingOperands v) { return draw_limited(x, v, 0); }});
}

}  // namespace

void add_sampling_checks(Builder& b, const SamplingInputs& in) {
  const auto check = [&](ValueId right, std::string_view message) {
    b.add_all(Op::assert_true, {right}, {attr_text(AttrKey::text, message)});
  };
  check(truth(b, "t >= 0 && t < inf", {{"t", in.temperature}}),
        "temperature must be a finite number from 0; 0 takes the most likely token");
  check(truth(b, "k >= 0", {{"k", in.top_k}}, DType::i64), "top_k must be 0 or more; 0 keeps all tokens");
  check(truth(b, "p > 0 && p <= 1", {{"p", in.top_p}}), "top_p must be above 0 and at most 1; 1 keeps all tokens");
}

ValueId add_sampling(Builder& b, ValueId logits, const SamplingInputs& in) {
  const ValueId most_likely = truth(b, "t == 0", {{"t", in.temperature}});
  std::vector<ValueId> operands = {logits, in.temperature, in.top_k, in.top_p};
  if (in.seed != kNoValue) operands.insert(operands.end(), {in.seed, in.draw});
  return add_cond(b, most_likely, operands, {"greedy", greedy}, {"drawn", drawn});
}

}  // namespace tern
