// Rule of products of Householder reflections: one reflection H = 1 - t v v^H after another.
#include <fmt/format.h>

#include "exporter/gradients/matrices.h"
#include "exporter/gradients/rules.h"

namespace tern {
namespace {

/// Each reflection adds a dozen nodes: bounds a file's demand.
constexpr std::int64_t kMaxReflections = 1024;

struct ReflectionsStep {
  std::int64_t column;
  ValueId v, t;  ///< [.., m, 1] and [.., 1, 1]
};

/// Column k of `vectors` with a 1 at position k and zeros before.
ValueId vector_of(Builder& b, ValueId vectors, std::int64_t k) {
  const Dim rows = b.size(vectors, -2);
  const ValueId row = b.reshape(b.iota(rows, DType::i64), {rows, 1});
  const ValueId position = b.expr("r - k", {{"r", row}, {"k", static_cast<double>(k)}}, DType::i64);
  const ValueId is_above_pivot = b.expr("p < 0", {{"p", position}}, DType::i64, DType::boolean);
  const ValueId is_pivot = b.expr("p == 0", {{"p", position}}, DType::i64, DType::boolean);
  return b.expr("n ? 0 : a ? 1 : v", {{"n", is_above_pivot}, {"a", is_pivot}, {"v", b.slice(vectors, -1, k, 1)}},
                b.dtype(vectors));
}

}  // namespace

void differentiate_householder(GradientCall& c) {
  Builder& b = c.b;
  const ValueId vectors = c.operand(0), tau = c.operand(1);
  const DType t = b.dtype(vectors);
  const Dim count = b.size(tau, -1);
  if (!count.is_const()) c.refuse("the number of reflections must be known");
  if (count.value() > kMaxReflections)
    c.refuse(fmt::format("it has {} reflections, each with its own nodes; at most {} are supported", count.value(),
                         kMaxReflections));
  const bool product = static_cast<HouseholderKind>(c.node.integer(AttrKey::kind)) == HouseholderKind::product;
  // C op(Q) is the adjoint of op(Q)^H C^H.
  const bool right = !product && !c.flag(AttrKey::left);
  const bool adjoint =
      !product && (static_cast<TransposeKind>(c.node.integer(AttrKey::transpose)) != TransposeKind::none) != right;
  ValueId x = kNoValue;
  if (product) {
    const Dim rows = b.size(vectors, -2), columns = b.size(vectors, -1);
    x = b.expand(b.slice(identity(b, rows, t), -1, 0, columns), b.shape(vectors));
  } else {
    x = right ? hermitian(b, c.operand(2)) : c.operand(2);
  }
  ValueId g = right ? hermitian(b, c.grad(0)) : c.grad(0);

  // Q = H_1 .. H_k applies the last one first, Q^H the adjoint of the first one.
  std::vector<ReflectionsStep> steps;
  std::vector<ValueId> step_operands;  // operand of each step
  for (std::int64_t i = 0; i < count.value(); ++i) {
    const std::int64_t k = adjoint ? i : count.value() - 1 - i;
    ValueId factor = b.unsqueeze(b.slice(tau, -1, k, 1), -1);
    if (adjoint) factor = c.conj(factor);
    steps.push_back({k, vector_of(b, vectors, k), factor});
    step_operands.push_back(x);
    const ValueId w = times(b, hermitian(b, steps.back().v), x);
    x = b.expr("x - t * p", {{"x", x}, {"t", factor}, {"p", times(b, steps.back().v, w)}}, t);
  }
  std::vector<ValueId> gv(steps.size()), gt(steps.size());
  for (std::size_t i = steps.size(); i-- > 0;) {
    const ReflectionsStep& s = steps[i];
    const ValueId vh = hermitian(b, s.v), w = times(b, vh, step_operands[i]), vg = times(b, vh, g);
    const ValueId wh = hermitian(b, w);
    const auto k = static_cast<std::size_t>(s.column);
    gt[k] = b.squeeze(b.expr("-x", {{"x", times(b, vg, wh)}}, t), -1);
    if (adjoint) gt[k] = c.conj(gt[k]);
    gv[k] = b.expr(
        "-(u * p + s * q)",
        {{"u", c.conj(s.t)}, {"p", times(b, g, wh)}, {"s", s.t}, {"q", times(b, step_operands[i], hermitian(b, vg))}},
        t);
    g = b.expr("g - u * p", {{"g", g}, {"u", c.conj(s.t)}, {"p", times(b, s.v, vg)}}, t);
  }
  if (!product) c.add_gradient(2, right ? hermitian(b, g) : g);
  if (steps.empty()) return;
  if (c.needs_gradient(0)) {
    const Dim unused_columns = b.pool().sub(b.size(vectors, -1), count);
    if (!unused_columns.is(0))
      gv.push_back(b.full(append_sizes(batch_of(b, vectors), {b.size(vectors, -2), unused_columns}), 0, t));
    c.add_gradient(0, triangle(b, b.concat(gv, -1), true, -1));
  }
  if (c.needs_gradient(1)) c.add_gradient(1, b.concat(gt, -1));
}

}  // namespace tern
