// Elementwise losses.
#include "exporter/lower/loss.h"

#include <array>
#include <string>
#include <vector>

namespace tern {
namespace {

/// The losses of `text` over the call's arguments, reduced.
Values elementwise_loss(Builder& b, const Call& c, std::string_view text) {
  std::vector<ExprArg> args;
  for (const auto& [name, operand] : c.args) {
    if (text.find(name) != std::string_view::npos && operand.kind != CallArgument::Kind::none) {
      args.push_back(expr_arg(b, c, name));
    }
  }
  const DType t = loss_type(c);
  return {reduce_loss(b, c, b.expr(text, std::move(args), t, t))};
}

Values mse(Builder& b, const Call& c) {
  return elementwise_loss(b, c, "(self - target) * (self - target)");
}
Values l1(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const DType t = promote(b.dtype(x), b.dtype(c.tensor("target")));
  if (!is_complex(t)) return elementwise_loss(b, c, "abs(self - target)");
  const ValueId d = b.expr("abs(x - y)", {{"x", x}, {"y", c.tensor("target")}}, compute_type(t), loss_type(c));
  return {reduce_loss(b, c, d)};
}
/// z - 0.5 z is exact, so one formula serves both sides of the threshold.
Values smooth_l1(Builder& b, const Call& c) {
  if (c.number("beta") == 0) return l1(b, c);
  if (c.number("beta") == 1) return elementwise_loss(b, c, "z = abs(self - target); m = min(z, 1); m * (z - 0.5 * m)");
  return elementwise_loss(b, c, "z = abs(self - target); z < beta ? 0.5 * z * z / beta : z - 0.5 * beta");
}
Values huber(Builder& b, const Call& c) {
  return elementwise_loss(b, c, "z = abs(self - target); m = min(z, delta); m * (z - 0.5 * m)");
}
/// Clamps the logarithms at -100: no loss is infinite.
Values bce(Builder& b, const Call& c) {
  const std::string text = "((target - 1) * max(log1p(-self), -100) - target * max(log(self), -100))";
  return elementwise_loss(b, c, c.has_argument("weight") ? text + " * weight" : text);
}
Values bce_with_logits(Builder& b, const Call& c) {
  std::string text = "log_sigmoid = min(self, 0) - log1p(exp(-abs(self))); ";
  text += c.has_argument("pos_weight") ? "((1 - target) * self - ((pos_weight - 1) * target + 1) * log_sigmoid)"
                                       : "((1 - target) * self - log_sigmoid)";
  return elementwise_loss(b, c, c.has_argument("weight") ? text + " * weight" : text);
}
Values kl_div(Builder& b, const Call& c) {
  if (c.flag_or("log_target", false)) return elementwise_loss(b, c, "exp(target) * (target - self)");
  return elementwise_loss(b, c, "(target == 0 ? 0 : target * log(target)) - target * self");
}
Values poisson_nll(Builder& b, const Call& c) {
  std::string text = c.flag("log_input") ? "exp(input) - target * input" : "input - target * log(input + eps)";
  if (c.flag("full")) text += " + (target > 1 ? target * log(target) - target + 0.5 * log(2 * pi * target) : 0)";
  return elementwise_loss(b, c, text);
}
Values soft_margin(Builder& b, const Call& c) {
  return elementwise_loss(b, c, "log1p(exp(-target * self))");
}
Values hinge_embedding(Builder& b, const Call& c) {
  return elementwise_loss(b, c, "(target != 1 ? max(margin - self, 0) : 0) + (target != -1 ? self : 0)");
}
Values margin_ranking(Builder& b, const Call& c) {
  // PyTorch composes several operators: the product of integer operands wraps.
  const ValueId x = c.tensor("input1"), y = c.tensor("input2"), target = c.tensor("target");
  const DType t = promote(b.dtype(target), promote(b.dtype(x), b.dtype(y)));
  const ValueId product = b.expr("-target * (x - y)", {{"x", x}, {"y", y}, {"target", target}}, t);
  const DType compute = loss_type(c);
  return {reduce_loss(
      b, c, b.expr("max(product + margin, 0)", {{"product", product}, {"margin", c.number("margin")}}, compute))};
}

constexpr std::array kLossLowerings = {
    Lowering{"aten.mse_loss.default", mse},
    Lowering{"aten.l1_loss.default", l1},
    Lowering{"aten.smooth_l1_loss.default", smooth_l1},
    Lowering{"aten.huber_loss.default", huber},
    Lowering{"aten.binary_cross_entropy.default", bce},
    Lowering{"aten.binary_cross_entropy_with_logits.default", bce_with_logits},
    Lowering{"aten.kl_div.default", kl_div},
    Lowering{"aten.poisson_nll_loss.default", poisson_nll},
    Lowering{"aten.soft_margin_loss.default", soft_margin},
    Lowering{"aten.hinge_embedding_loss.default", hinge_embedding},
    Lowering{"aten.margin_ranking_loss.default", margin_ranking},
};

}  // namespace

DType loss_type(const Call& c) {
  return compute_type(c.result_dtype());
}

ValueId reduce_loss(Builder& b, const Call& c, ValueId losses) {
  const std::int64_t reduction = c.integer_or("reduction", 1);
  if (reduction == 0) return b.cast(losses, c.result_dtype());
  if (reduction != 1 && reduction != 2) c.unsupported("unknown reduction");
  const ValueId r = b.reduce(losses, reduction == 1 ? "mean" : "sum", b.all_axes(losses), false, b.dtype(losses));
  return b.cast(r, c.result_dtype());
}

ValueId log_softmax_along(Builder& b, ValueId x, std::int64_t axis, DType dtype) {
  return b.add(Op::softmax, {b.cast(x, dtype)},
               {attr(AttrKey::axis, axis), attr(AttrKey::log, Dim(1)), attr_dtype(dtype)});
}

std::span<const Lowering> elementwise_loss_lowerings() {
  return kLossLowerings;
}

std::span<const Lowering> loss_lowerings() {
  static const std::vector<Lowering> table = [] {
    std::vector<Lowering> lowerings;
    for (std::span<const Lowering> part :
         {elementwise_loss_lowerings(), class_loss_lowerings(), ctc_loss_lowerings(), distance_loss_lowerings()}) {
      lowerings.insert(lowerings.end(), part.begin(), part.end());
    }
    return lowerings;
  }();
  return table;
}

}  // namespace tern
