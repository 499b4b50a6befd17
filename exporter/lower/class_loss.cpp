// Losses over classes: the input's second axis, or its only axis.
#include <array>
#include <string>

#include "exporter/lower/call_argument.h"
#include "exporter/lower/loss.h"
#include "exporter/lower/reduction.h"

namespace tern {
namespace {

/// x with a batch axis.
ValueId batched(Builder& b, ValueId x, bool has_batch) {
  return has_batch ? x : b.unsqueeze(x, 0);
}

/// Ingredients of class-label losses. The class axis is 1, absent from the values.
struct Labels {
  ValueId index;              ///< the label, 0 if ignored
  ValueId valid_mask;         ///< false if ignored
  ValueId weight = kNoValue;  ///< weight of the label's class, 0 if ignored
};

Labels read_labels(Builder& b, const Call& c, ValueId target, DType t) {
  const ExprArg ignore = expr_arg(b, c, "ignore_index");
  Labels l;
  l.valid_mask = b.expr("target != ignore_index", {{"target", target}, ignore}, DType::i64, DType::boolean);
  l.index = b.expr("kept ? target : 0", {{"kept", l.valid_mask}, {"target", target}}, DType::i64);
  if (c.has_argument("weight")) {
    const ValueId w = b.index_select(c.tensor("weight"), b.flatten(l.index), 0);
    l.weight = b.expr("kept ? w : 0", {{"kept", l.valid_mask}, {"w", b.reshape(w, b.shape(l.index))}}, t);
  }
  return l;
}

ValueId total(Builder& b, ValueId x, DType t) {
  return b.reduce(x, "sum", b.all_axes(x), false, t);
}

/// Sum of the labels' weights, or the number of labels.
ValueId total_weight(Builder& b, const Labels& l, DType t) {
  return total(b, l.weight != kNoValue ? l.weight : b.cast(l.valid_mask, t), t);
}

/// Negated log-probability of the label, weighted. Classes are axis 1 of [N, C, ...].
ValueId select_class(Builder& b, ValueId logp, const Labels& l, DType t) {
  const ValueId p = b.squeeze(b.gather(logp, b.unsqueeze(l.index, 1), 1), 1);
  if (l.weight != kNoValue) return b.expr("kept ? -p * w : 0", {{"kept", l.valid_mask}, {"p", p}, {"w", l.weight}}, t);
  return b.expr("kept ? -p : 0", {{"kept", l.valid_mask}, {"p", p}}, t);
}

/// The reduction of weighted losses: the mean is over the weights.
ValueId reduce_weighted(Builder& b, const Call& c, ValueId losses, const Labels& l, DType t) {
  if (c.integer_or("reduction", 1) != 1) return reduce_loss(b, c, losses);
  return b.expr("sum / weight", {{"sum", total(b, losses, t)}, {"weight", total_weight(b, l, t)}}, t);
}

/// The loss and the labels' total weight.
Values nll_both(Builder& b, const Call& c) {
  const DType t = loss_type(c);
  const ValueId x = c.tensor("self");
  const bool has_batch = b.rank(x) > 1;
  const Labels l = read_labels(b, c, batched(b, c.tensor("target"), has_batch), t);
  ValueId losses = select_class(b, b.cast(batched(b, x, has_batch), t), l, t);
  const bool none = c.integer_or("reduction", 1) == 0;
  if (none && !has_batch) losses = b.squeeze(losses, 0);
  const ValueId weight = none ? b.scalar(0, t) : total_weight(b, l, t);
  return {b.cast(reduce_weighted(b, c, losses, l, t), c.result_dtype()), b.cast(weight, c.result_dtype())};
}
Values nll(Builder& b, const Call& c) {
  return {nll_both(b, c)[0]};
}

/// The target is a probability for each class.
Values cross_entropy_soft(Builder& b, const Call& c, ValueId logp, bool has_batch, DType t) {
  const double smoothing = c.number_or("label_smoothing", 0);
  const ValueId target = batched(b, c.tensor("target"), has_batch);
  std::vector<ExprArg> args = {{"logp", logp},
                               {"target", target},
                               {"keep", 1 - smoothing},
                               {"smoothing", smoothing},
                               size_arg(b, "classes", b.size(logp, 1))};
  std::string text = "-logp * (target * keep + smoothing / classes)";
  if (c.has_argument("weight")) {
    Dims sizes(static_cast<std::size_t>(b.rank(logp)), 1);
    sizes[1] = b.size(logp, 1);
    args.push_back({"weight", b.reshape(c.tensor("weight"), std::move(sizes))});
    text += " * weight";
  }
  ValueId losses = b.reduce(b.expr(text, std::move(args), t), "sum", {1}, false, t);
  if (!has_batch && c.integer_or("reduction", 1) == 0) losses = b.squeeze(losses, 0);
  return {reduce_loss(b, c, losses)};
}

Values cross_entropy(Builder& b, const Call& c) {
  const DType t = loss_type(c);
  const ValueId x = c.tensor("self");
  const bool has_batch = b.rank(x) > 1;
  const ValueId logp = log_softmax_along(b, batched(b, x, has_batch), 1, t);
  if (is_floating(b.dtype(c.tensor("target")))) return cross_entropy_soft(b, c, logp, has_batch, t);

  const Labels l = read_labels(b, c, batched(b, c.tensor("target"), has_batch), t);
  const double smoothing = c.number_or("label_smoothing", 0);
  ValueId losses = select_class(b, logp, l, t);
  if (smoothing > 0) {
    // Label smoothing gives every class a share of the target: mixes in the mean loss of the classes.
    ValueId weighted_logp = logp;
    if (c.has_argument("weight")) {
      Dims sizes(static_cast<std::size_t>(b.rank(logp)), 1);
      sizes[1] = b.size(logp, 1);
      weighted_logp =
          b.expr("logp * weight", {{"logp", logp}, {"weight", b.reshape(c.tensor("weight"), std::move(sizes))}}, t);
    }
    losses = b.expr("(1 - smoothing) * loss + (kept ? -all * smoothing / classes : 0)",
                    {{"loss", losses},
                     {"kept", l.valid_mask},
                     {"all", b.reduce(weighted_logp, "sum", {1}, false, t)},
                     {"smoothing", smoothing},
                     size_arg(b, "classes", b.size(logp, 1))},
                    t);
  }
  if (!has_batch && c.integer_or("reduction", 1) == 0) losses = b.squeeze(losses, 0);
  return {b.cast(reduce_weighted(b, c, losses, l, t), c.result_dtype())};
}

/// torch.nn.functional.linear_cross_entropy by chunks of the batch, which save memory and leave the loss as it is.
ValueId linear_cross_entropy(Builder& b, const Call& c, std::int64_t reduction) {
  const DType t = c.dtype_or("acc_dtype", c.result_dtype());
  const auto wide = [&](ArgumentName name) { return c.has_argument(name) ? b.cast(c.tensor(name), t) : kNoValue; };
  const Values logits = lower_call(b, make_call(b, "aten.linear.default",
                                                {{"input", tensor_argument(wide("input"))},
                                                 {"weight", tensor_argument(wide("linear_weight"))},
                                                 {"bias", tensor_argument(wide("linear_bias"))}},
                                                {TensorType{t, {}}}, c.torch_version));
  return cross_entropy(b, make_call(b, "aten.cross_entropy_loss.default",
                                    {{"self", tensor_argument(logits[0])},
                                     {"target", c.arg("target")},
                                     {"weight", tensor_argument(wide("weight"))},
                                     {"reduction", integer_argument(reduction)},
                                     {"ignore_index", c.arg("ignore_index")},
                                     {"label_smoothing", number_argument(c.number_or("label_smoothing", 0))}},
                                    {TensorType{c.result_dtype(), {}}}, c.torch_version))[0];
}
/// The operator's other results are gradients for its own backward function, which no exported program reads.
Values linear_cross_entropy_reduced(Builder& b, const Call& c) {
  return {linear_cross_entropy(b, c, c.text("reduction") == "mean" ? 1 : 2), kNoValue, kNoValue, kNoValue};
}
Values linear_cross_entropy_of_rows(Builder& b, const Call& c) {
  return {linear_cross_entropy(b, c, 0)};
}

/// Mean over the other classes of max(0, margin - x[y] + x[j])^p, for each sample.
Values multi_margin(Builder& b, const Call& c) {
  const DType t = loss_type(c);
  ValueId x = c.tensor("self");
  const bool has_batch = b.rank(x) > 1;
  if (b.rank(x) == 0) x = b.unsqueeze(x, 0);
  x = batched(b, x, has_batch);
  ValueId target = c.tensor("target");
  target = b.reshape(target, {b.size(x, 0), 1});
  const double p = c.number("p");
  if (p != 1 && p != 2) c.unsupported("p must be 1 or 2");
  std::vector<ExprArg> args = {
      {"x", x}, {"own", b.gather(x, target, 1)}, {"target", target}, {"margin", c.number("margin")}};
  std::string text = "z = max(margin - own + x, 0); index(1) == target ? 0 : ";
  text += p == 1 ? "z" : "z * z";
  if (c.has_argument("weight")) {
    args.push_back({"weight", b.reshape(b.index_select(c.tensor("weight"), b.flatten(target), 0), b.shape(target))});
    text += " * weight";
  }
  ValueId losses = b.reduce(b.expr(text, std::move(args), t), "mean", {1}, false, t);
  if (!has_batch) losses = b.squeeze(losses, 0);
  return {reduce_loss(b, c, losses)};
}

/// The target lists classes up to the first -1. For each sample, over listed classes y and others j:
/// the sum of max(0, 1 - x[y] + x[j]), divided by the number of classes. The second result marks the listed classes.
Values multilabel_margin_both(Builder& b, const Call& c) {
  const DType t = loss_type(c);
  const Dims shape = b.shape(c.tensor("target"));
  ValueId x = c.tensor("self");
  const bool has_batch = b.rank(x) > 1;
  if (b.rank(x) == 0) x = b.unsqueeze(x, 0);
  x = batched(b, x, has_batch);
  const ValueId target = b.reshape(c.tensor("target"), b.shape(x));
  const ValueId lower = scan_along(b, target, ScanKind::cummin, 1, b.dtype(target));
  const ValueId listed = b.expr("least >= 0", {{"least", lower}}, DType::i64, DType::boolean);
  const ValueId index = b.expr("listed ? target : 0", {{"listed", listed}, {"target", target}}, DType::i64);
  // [sample, position in the list, class]
  const ValueId classes = b.iota(b.size(x, 1), DType::i64);
  const ValueId marks =
      b.expr("listed && index == class",
             {{"listed", b.unsqueeze(listed, 2)}, {"index", b.unsqueeze(index, 2)}, {"class", classes}}, DType::i64,
             DType::boolean);
  const ValueId is_target = b.reduce(marks, "any", {1}, false, DType::boolean);
  const ValueId pairs = b.expr("listed && !other ? max(1 - own + x, 0) : 0",
                               {{"listed", b.unsqueeze(listed, 2)},
                                {"other", b.unsqueeze(is_target, 1)},
                                {"own", b.unsqueeze(b.gather(x, index, 1), 2)},
                                {"x", b.unsqueeze(x, 1)}},
                               t);
  ValueId losses = b.reduce(pairs, "sum", {1, 2}, false, t);
  losses = b.expr("loss / classes", {{"loss", losses}, size_arg(b, "classes", b.size(x, 1))}, t);
  if (!has_batch) losses = b.squeeze(losses, 0);
  return {reduce_loss(b, c, losses), b.reshape(b.cast(is_target, b.dtype(x)), shape)};
}
Values multilabel_margin(Builder& b, const Call& c) {
  return {multilabel_margin_both(b, c)[0]};
}

constexpr std::array kClassLossLowerings = {
    Lowering{"aten.nll_loss.default", nll},
    Lowering{"aten.nll_loss2d.default", nll},
    Lowering{"aten.nll_loss_nd.default", nll},
    Lowering{"aten.nll_loss_forward.default", nll_both},
    Lowering{"aten.nll_loss2d_forward.default", nll_both},
    Lowering{"aten.cross_entropy_loss.default", cross_entropy},
    Lowering{"torch_nn._linear_cross_entropy_batch_chunked.default", linear_cross_entropy_reduced},
    Lowering{"torch_nn._linear_cross_entropy_batch_chunked_no_reduction.default", linear_cross_entropy_of_rows},
    Lowering{"aten.multi_margin_loss.default", multi_margin},
    Lowering{"aten.multilabel_margin_loss.default", multilabel_margin},
    Lowering{"aten.multilabel_margin_loss_forward.default", multilabel_margin_both},
};

}  // namespace

std::span<const Lowering> class_loss_lowerings() {
  return kClassLossLowerings;
}

}  // namespace tern
