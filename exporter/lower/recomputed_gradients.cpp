// Gradients of operators by their forward operators: a lowering adds the forward nodes once more and differentiates
// them. Later passes remove the forward nodes that no gradient reads.
#include <algorithm>

#include "exporter/gradients/differentiate.h"
#include "exporter/lower/call_argument.h"
#include "exporter/lower/gradients.h"
#include "exporter/lower/indexing.h"
#include "exporter/lower/pointwise.h"
#include "schema/work.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

struct RenamedArgument {
  ArgumentName backward, forward;
};

/// The first argument of a backward operator is the gradient of the forward operator's first result.
struct RecomputedGradient {
  std::string_view backward, forward;
  std::vector<ArgumentName> operands;  ///< arguments whose gradients are the results, in order
  std::vector<RenamedArgument> renamed = {};
  ArgumentName second_result = {};  ///< argument with the forward operator's second result
};

const std::vector<RecomputedGradient>& recomputed_gradients() {
  static const std::vector<RecomputedGradient> table = {
      {"aten.reflection_pad1d_backward.default", "aten.reflection_pad1d.default", {"self"}},
      {"aten.reflection_pad2d_backward.default", "aten.reflection_pad2d.default", {"self"}},
      {"aten.reflection_pad3d_backward.default", "aten.reflection_pad3d.default", {"self"}},
      {"aten.replication_pad1d_backward.default", "aten.replication_pad1d.default", {"self"}},
      {"aten.replication_pad2d_backward.default", "aten.replication_pad2d.default", {"self"}},
      {"aten.replication_pad3d_backward.default", "aten.replication_pad3d.default", {"self"}},
      {"aten.grid_sampler_2d_backward.default", "aten.grid_sampler_2d.default", {"input", "grid"}},
      {"aten.grid_sampler_3d_backward.default", "aten.grid_sampler_3d.default", {"input", "grid"}},
      {"aten._cdist_backward.default", "aten._cdist_forward.default", {"x1"}},
      {"aten._pdist_backward.default", "aten._pdist_forward.default", {"self"}},
      {"aten.multi_margin_loss_backward.default", "aten.multi_margin_loss.default", {"self"}},
      {"aten.multilabel_margin_loss_backward.default",
       "aten.multilabel_margin_loss_forward.default",
       {"self"},
       {},
       "is_target"},
      {"aten._segment_reduce_backward.default", "aten.segment_reduce.default", {"data"}},
      {"aten._weight_norm_interface_backward.default",
       "aten._weight_norm.default",
       {"saved_v", "saved_g"},
       {{"saved_v", "v"}, {"saved_g", "g"}}},
  };
  return table;
}

/// A value of its own: what reads it reads the operand of one call alone.
ValueId copied(Builder& b, ValueId x) {
  Instruction load;
  load.op = Scalar::load;
  load.dtype = b.dtype(x);
  Node n;
  n.op = Op::pointwise;
  n.inputs = {x};
  n.expr.code = {load};
  return b.add(std::move(n)).front();
}

/// True if the call's output_mask leaves out gradient i.
bool is_masked(const Call& c, std::size_t i) {
  return c.has_argument("output_mask") && c.dims("output_mask").at(i).is(0);
}

/// The gradients of the row's operands for the call of the backward operator. Each walks over the whole function.
Values gradients_by_forward(Builder& b, const Call& c, const RecomputedGradient& row) {
  charge_work(b.function().nodes.size());
  Call forward = c;
  forward.target = row.forward;
  Values operands;
  for (ArgumentName name : row.operands) operands.push_back(copied(b, c.tensor(name)));
  for (auto& [name, argument] : forward.args) {
    const auto i = std::ranges::find(row.operands, name, &ArgumentName::text) - row.operands.begin();
    if (i < std::ssize(row.operands)) argument.value = operands[static_cast<std::size_t>(i)];
    for (const RenamedArgument& renamed : row.renamed) {
      if (name == renamed.backward.text()) name = renamed.forward.text();
    }
  }
  const ValueId gradient = c.args.front().second.value;
  forward.declared = {b.type(gradient)};
  if (!row.second_result.empty()) forward.declared.push_back(b.type(c.tensor(row.second_result)));
  const GradientSeed seed{find_lowering(row.forward)(b, forward).at(0), gradient};
  Values requested;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!is_masked(c, i)) requested.push_back(operands[i]);
  }
  const Values found = differentiate(b, {&seed, 1}, requested);
  Values result;
  for (std::size_t i = 0, next = 0; i < operands.size(); ++i) {
    if (is_masked(c, i)) {
      result.push_back(kNoValue);
      continue;
    }
    const ValueId g = found.at(next++);
    result.push_back(g == kNoValue ? zeros_like(b, operands[i]) : g);
  }
  return result;
}

Values recomputed_gradient(Builder& b, const Call& c) {
  const std::vector<RecomputedGradient>& table = recomputed_gradients();
  return gradients_by_forward(b, c, *std::ranges::find(table, c.target, &RecomputedGradient::backward));
}

/// The call names the sizes of the forward operator's operand, whose elements do not matter.
Values diagonal_gradient(Builder& b, const Call& c) {
  const ValueId self = b.full(c.dims("input_sizes"), 0, b.dtype(c.tensor("grad_output")));
  Call with_self = c;
  with_self.args.emplace_back("self", tensor_argument(self));
  return gradients_by_forward(b, with_self, {c.target, "aten.diagonal.default", {"self"}});
}

Values glu_tangent(Builder& b, const Call& c) {
  const std::int64_t dim = b.normal_axis(c.tensor("x"), c.integer("dim"));
  const GluHalves x = glu_halves(b, c.tensor("x"), dim), t = glu_halves(b, c.tensor("dx"), dim);
  return {b.expr("s = sigmoid(b); da * s + a * s * (1 - s) * db",
                 {{"a", x.values}, {"b", x.gates}, {"da", t.values}, {"db", t.gates}}, c.result_dtype())};
}

Values glu_gradient_tangent(Builder& b, const Call& c) {
  const std::int64_t dim = b.normal_axis(c.tensor("x"), c.integer("dim"));
  const GluHalves x = glu_halves(b, c.tensor("x"), dim), t = glu_halves(b, c.tensor("dx"), dim);
  const std::vector<ExprArg> args = {{"a", x.values},
                                     {"b", x.gates},
                                     {"u", t.values},
                                     {"v", t.gates},
                                     {"g", c.tensor("grad_glu")},
                                     {"h", c.tensor("dgrad_glu")}};
  const DType type = c.result_dtype();
  return {b.concat(
      {b.expr("s = sigmoid(b); h * s + g * s * (1 - s) * v", args, type),
       b.expr("s = sigmoid(b); d = s * (1 - s); h * a * d + g * u * d + g * a * d * (1 - 2 * s) * v", args, type)},
      dim)};
}

Values rrelu_gradient(Builder& b, const Call& c) {
  const double lower = c.number("lower"), upper = c.number("upper");
  const ValueId g = c.tensor("grad_output");
  if (c.flag("training") && upper - lower > 1e-6)
    return {b.expr("g * n", {{"g", g}, {"n", c.tensor("noise")}}, c.result_dtype())};
  return {
      b.expr("x > 0 ? g : g * s", {{"g", g}, {"x", c.tensor("self")}, {"s", (lower + upper) / 2}}, c.result_dtype())};
}

/// The k-th element under the mask is the gradient of element k of the source.
Values masked_scatter_gradient(Builder& b, const Call& c) {
  const ValueId g = c.tensor("grad_output");
  const Dims sizes = c.dims("sizes");
  const ValueId mask = b.flatten(b.expand(b.cast(c.tensor("mask"), DType::boolean), b.shape(g)));
  const ValueId rank = scan_along(b, b.cast(mask, DType::i64), ScanKind::cumsum, 0, DType::i64);
  const ValueId position = b.expr("m ? r - 1 : 0", {{"m", mask}, {"r", rank}}, DType::i64);
  const ValueId source = b.expr("m ? g : 0", {{"m", mask}, {"g", b.flatten(g)}}, b.dtype(g));
  const ValueId zeros = b.full({b.pool().product(sizes)}, 0, b.dtype(g));
  return {b.reshape(put_along(b, zeros, 0, position, source, true), sizes)};
}

/// Zeros with the sizes of `other` behind the first axes of `self`.
Values zeros_with_features(Builder& b, const Call& c) {
  const Dims batch = b.shape(c.tensor("self")), features = b.shape(c.tensor("other"));
  Dims sizes(batch.begin(), batch.begin() + c.integer_or("self_num_batch_dims", 0));
  sizes.insert(sizes.end(), features.begin(), features.end());
  return {b.full(std::move(sizes), 0, c.result_dtype())};
}

}  // namespace

std::span<const Lowering> recomputed_gradient_lowerings() {
  static const std::vector<Lowering> lowerings = [] {
    std::vector<Lowering> v = {
        {"aten._new_zeros_with_same_feature_meta.default", zeros_with_features},
        {"aten.diagonal_backward.default", diagonal_gradient},
        {"aten.glu_backward_jvp.default", glu_gradient_tangent},
        {"aten.glu_jvp.default", glu_tangent},
        {"aten.masked_scatter_backward.default", masked_scatter_gradient},
        {"aten.rrelu_with_noise_backward.default", rrelu_gradient},
    };
    for (const RecomputedGradient& row : recomputed_gradients()) v.push_back({row.backward, recomputed_gradient});
    return v;
  }();
  return lowerings;
}

}  // namespace tern
