// Attention written as operators: a product of queries and keys, pointwise nodes, a softmax that gives zeros for scores
// of -infinity alone, and a product with values. One attention node with a score function replaces it. FlexAttention
// with other functions than added masks is exported like that (python/tern/_flex_attention.py).
#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "runtime/fuse/score_expression.h"
#include "runtime/fuse/uses.h"
#include "schema/kinds.h"

namespace tern {
namespace {

using Code = std::vector<Instruction>;

bool is_number(const Instruction& i, double number) {
  return i.op == Scalar::constant && i.dtype == DType::f32 && i.number == number;
}

/// Returns the operand of a pointwise node that instruction `i` loads; kNoValue for another instruction.
ValueId loaded(const Node& n, std::uint16_t i) {
  const Instruction& load = n.expr.code[i];
  return load.op == Scalar::load ? n.inputs[static_cast<std::size_t>(load.integer)] : kNoValue;
}

/// Matches top == -infinity ? 0 : y; returns top.
ValueId top_of_zeros(const Node& n, ValueId y) {
  const Code& code = n.expr.code;
  if (n.op != Op::pointwise || code.back().op != Scalar::where) return kNoValue;
  const Instruction &choice = code.back(), &equal = code[choice.a];
  if (equal.op != Scalar::eq || !is_number(code[choice.b], 0) || loaded(n, choice.c) != y) return kNoValue;
  const bool first = is_number(code[equal.a], -std::numeric_limits<double>::infinity());
  if (!first && !is_number(code[equal.b], -std::numeric_limits<double>::infinity())) return kNoValue;
  return loaded(n, first ? equal.b : equal.a);
}

/// Matches exp(x - m); returns m.
ValueId shift_of_powers(const Node& n, ValueId x) {
  const Code& code = n.expr.code;
  if (n.op != Op::pointwise || code.back().op != Scalar::exp || code.back().dtype != DType::f32) return kNoValue;
  const Instruction& difference = code[code.back().a];
  if (difference.op != Scalar::sub || loaded(n, difference.a) != x) return kNoValue;
  return loaded(n, difference.b);
}

/// Matches isinf(top) ? 0 : top; returns top.
ValueId finite_top(const Node& n) {
  const Code& code = n.expr.code;
  if (n.op != Op::pointwise || code.back().op != Scalar::where) return kNoValue;
  const Instruction& choice = code.back();
  if (code[choice.a].op != Scalar::isinf || !is_number(code[choice.b], 0)) return kNoValue;
  const ValueId top = loaded(n, choice.c);
  return loaded(n, code[choice.a].a) == top ? top : kNoValue;
}

bool is_conversion(const Node& n) {
  return n.op == Op::pointwise && n.expr.code.size() == 2 && n.expr.code[0].op == Scalar::load &&
         n.expr.code[1].op == Scalar::convert;
}

class SoftmaxAttention {
 public:
  SoftmaxAttention(FunctionInFusion& f, std::uint32_t softmax) : f_(f), softmax_(softmax) {}

  void run() {
    if (!find_values() || !find_scores() || !find_sums()) return;
    ScoreExpression e(f_, product_, scores_, product_score_);
    const std::optional<PointwiseExpr> expr = e.finish(e.instruction(x_));
    if (!expr || !has_equal_planes(scoring_) || !has_equal_planes(product_) || !find_operands()) return;
    std::vector<ValueId> operands{query_, key_, value_, kNoValue};
    for (ValueId v : e.operands()) operands.push_back(v);
    if (std::ranges::any_of(operands, [&](ValueId v) { return v != kNoValue && f_.value_use(v).written; })) return;
    // Readers of the largest scores may come before the product.
    const NodePosition latest = extra_.empty() ? f_.positions[product_] : f_.operands_position(operands);
    const NodePosition position{latest[0], product_, 1};
    for (std::uint32_t n : extra_) {
      if (f_.positions[n] < position) return;
    }
    replace(*expr, std::move(operands), position);
  }

 private:
  Node& node(std::int32_t i) { return f_.f.nodes[static_cast<std::size_t>(i)]; }
  std::int32_t producer(ValueId v) { return f_.producer_in_section(v, product_); }
  std::int64_t last_axis() const { return static_cast<std::int64_t>(scores_.size()) - 1; }
  bool is_last(std::int64_t axis) const { return axis == -1 || axis == last_axis(); }

  std::vector<std::uint32_t> readers(ValueId v) {
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 0; i < f_.f.nodes.size(); ++i) {
      if (!f_.is_removed[i] && std::ranges::find(f_.f.nodes[i].inputs, v) != f_.f.nodes[i].inputs.end())
        found.push_back(i);
    }
    return found;
  }
  /// Returns the only reader of a value that is no result of the function; else null.
  Node* only_reader(ValueId v) {
    const ValueUse& use = f_.value_use(v);
    if (use.readers != 1 || use.pinned) return nullptr;
    reader_ = readers(v)[0];
    return &f_.f.nodes[reader_];
  }

  bool is_reduction(const Node& n, ReduceKind kind) {
    const Dims& axes = n.dims(AttrKey::axes);
    return n.op == Op::reduce && n.integer(AttrKey::kind) == static_cast<std::int64_t>(kind) && axes.size() == 1 &&
           is_last(axes[0].value()) && f_.type(n.outputs[0]).dtype == DType::f32 && n.expr.code.empty();
  }

  /// True for a reshape that keeps the last two axes.
  bool merges_planes(const Node& n) {
    if (n.op != Op::reshape) return false;
    const Dims &from = f_.type(n.inputs[0]).shape, &to = f_.type(n.outputs[0]).shape;
    return from.size() >= 2 && to.size() >= 2 && from.back() == to.back() && from[from.size() - 2] == to[to.size() - 2];
  }

  /// Finds the product of weights and values that reads the softmax.
  bool find_values() {
    const Node& softmax = f_.f.nodes[softmax_];
    x_ = softmax.inputs[0];
    scores_ = f_.type(x_).shape;
    if (scores_.size() < 2 || f_.type(x_).dtype != DType::f32 || f_.type(softmax.outputs[0]).dtype != DType::f32 ||
        softmax.integer(AttrKey::log) != 0 || !is_last(softmax.integer(AttrKey::axis)))
      return false;
    const Node* n = only_reader(softmax.outputs[0]);
    if (n == nullptr || (top_ = top_of_zeros(*n, softmax.outputs[0])) == kNoValue) return false;
    weights_ = n->outputs[0];
    while ((n = only_reader(weights_)) != nullptr && (is_conversion(*n) || merges_planes(*n))) weights_ = n->outputs[0];
    if (n == nullptr || n->op != Op::matmul || n->inputs[0] != weights_ || !n->expr.code.empty()) return false;
    product_ = reader_;
    return n->inputs.size() < 3 || n->inputs[2] == kNoValue;
  }

  /// Finds the product of queries and keys behind the softmax's operand.
  bool find_scores() {
    std::vector<ValueId> behind{x_};
    std::vector<ValueId> seen;
    while (!behind.empty()) {
      const ValueId v = behind.back();
      behind.pop_back();
      if (std::ranges::find(seen, v) != seen.end()) continue;
      seen.push_back(v);
      if (is_product(v)) return true;
      const std::int32_t p = producer(v);
      if (p < 0 || (node(p).op != Op::pointwise && node(p).op != Op::expand && !merges_planes(node(p)))) continue;
      for (ValueId o : node(p).inputs) {
        if (f_.type(o).shape == scores_) behind.push_back(o);
      }
    }
    return false;
  }
  /// True if `v` is the result of a product, seen as the scores.
  bool is_product(ValueId v) {
    product_score_ = v;
    while (true) {
      const std::int32_t p = producer(v);
      if (p < 0 || f_.value_use(v).readers != 1 || f_.value_use(v).pinned) return false;
      const Node& n = node(p);
      if (n.op == Op::matmul) {
        scoring_ = static_cast<std::uint32_t>(p);
        return (n.inputs.size() < 3 || n.inputs[2] == kNoValue) && n.expr.code.empty() &&
               f_.type(v).dtype == DType::f32 && scoring_ != product_;
      }
      if (!merges_planes(n)) return false;
      v = n.inputs[0];
    }
  }

  /// Finds the nodes that read the scores beside the softmax: largest scores, and sums of exponentials.
  bool find_sums() {
    if (f_.value_use(x_).pinned) return false;
    const auto is_top = [&](ValueId v) {
      const std::int32_t p = producer(v);
      return p >= 0 && is_reduction(node(p), ReduceKind::max) && node(p).inputs[0] == x_;
    };
    if (!is_top(top_)) return false;
    const bool is_top_alone = f_.value_use(top_).readers == 1 && !f_.value_use(top_).pinned;
    for (std::uint32_t i : readers(x_)) {
      const Node& n = f_.f.nodes[i];
      if (i == softmax_) continue;
      if (is_reduction(n, ReduceKind::max)) {
        if (n.outputs[0] != top_ || !is_top_alone) extra_.push_back(i);
        continue;
      }
      const ValueId shift = shift_of_powers(n, x_);
      const std::int32_t shifting = producer(shift);
      if (shift == kNoValue || shifting < 0 || !is_top(finite_top(node(shifting)))) return false;
      const Node* sum = only_reader(n.outputs[0]);
      if (sum == nullptr || !is_reduction(*sum, ReduceKind::sum)) return false;
      extra_.push_back(reader_);
    }
    return true;
  }

  /// True if no operand of a product broadcasts.
  bool has_equal_planes(std::uint32_t product) {
    const Node& n = f_.f.nodes[product];
    const auto planes = [&](ValueId v) { return std::span(f_.type(v).shape).first(f_.type(v).shape.size() - 2); };
    return std::ranges::equal(planes(n.inputs[0]), planes(n.outputs[0])) &&
           std::ranges::equal(planes(n.inputs[1]), planes(n.outputs[0]));
  }

  /// Finds the values that the two products multiply: before conversions to float32 if all have one type.
  bool find_operands() {
    const Node &scoring = f_.f.nodes[scoring_], &product = f_.f.nodes[product_];
    const DType result = f_.type(product.outputs[0]).dtype;
    for (const bool strips : {true, false}) {
      query_ = behind_views(scoring.inputs[0], strips, false);
      key_ = behind_views(scoring.inputs[1], strips, true);
      value_ = behind_views(product.inputs[1], strips && result == DType::f32, false);
      if (query_ == kNoValue || key_ == kNoValue || value_ == kNoValue) return false;
      const DType t = f_.type(query_).dtype;
      const bool is_supported = t == DType::f32 || t == DType::bf16 || t == DType::f16;
      if (is_supported && f_.type(key_).dtype == t && f_.type(value_).dtype == t && result == t) return true;
    }
    return false;
  }
  /// Returns the value that views and conversions to float32 turn into `v`, its last two axes exchanged if `is_turned`.
  ValueId behind_views(ValueId v, bool strips, bool is_turned) {
    if (f_.type(v).quantized()) return kNoValue;
    bool turned = false;
    ValueId found = is_turned ? kNoValue : v;
    for (std::int32_t p = producer(v); p >= 0; p = producer(v)) {
      const Node& n = node(p);
      if (exchanges_last_axes(n) && is_turned && !turned) {
        turned = true;
      } else if (!merges_planes(n) && !(strips && is_conversion(n))) {
        break;
      }
      v = n.inputs[0];
      if (turned == is_turned) found = v;
    }
    return found;
  }
  static bool exchanges_last_axes(const Node& n) {
    if (n.op != Op::permute) return false;
    const Dims& axes = n.dims(AttrKey::axes);
    const auto rank = static_cast<std::int64_t>(axes.size());
    for (std::int64_t i = 0; i < rank; ++i) {
      const std::int64_t from = i < rank - 2 ? i : rank - 1 - (i - (rank - 2)),
                         axis = axes[static_cast<std::size_t>(i)].value();
      if ((axis < 0 ? axis + rank : axis) != from) return false;
    }
    return rank >= 2;
  }

  ValueId shaped(ValueId v, NodePosition position) {
    const Dims& own = f_.type(v).shape;
    Dims shape(scores_.begin(), scores_.end() - 2);
    shape.insert(shape.end(), own.end() - 2, own.end());
    return own == shape ? v : f_.reshape(v, shape, position, product_);
  }

  void replace(const PointwiseExpr& expr, std::vector<ValueId> operands, NodePosition position) {
    const NodePosition before{position[0], position[1], 0};
    for (std::size_t k = 0; k < 3; ++k) operands[k] = shaped(operands[k], before);
    Dims shape = scores_;
    shape.back() = f_.type(operands[2]).shape.back();
    f_.merge_nodes(product_, {}, std::move(operands));
    f_.positions[product_] = position;
    Node& n = f_.f.nodes[product_];
    n.op = Op::attention;
    n.attrs = {{AttrKey::scale, std::vector<double>{1}}};
    n.expr = expr;
    if (f_.type(n.outputs[0]).shape != shape) f_.give_shape(product_, shape);
    if (!extra_.empty()) read_sums();
    f_.remove_unread(weights_);
    f_.remove_unread(x_);
  }
  /// The nodes beside the softmax read the results of attention.
  void read_sums() {
    const Dims sizes(scores_.begin(), scores_.end() - 1);
    const ValueId top = f_.add_result(product_, {DType::f32, sizes}),
                  total = f_.add_result(product_, {DType::f32, sizes});
    for (std::uint32_t i : extra_) {
      const ValueId before = f_.f.nodes[i].inputs[0];
      const bool is_top = f_.f.nodes[i].integer(AttrKey::kind) == static_cast<std::int64_t>(ReduceKind::max);
      f_.merge_nodes(i, {}, {is_top ? top : total});
      Node& n = f_.f.nodes[i];
      n.op = Op::reshape;
      n.attrs = {{AttrKey::sizes, f_.type(n.outputs[0]).shape}};
      f_.remove_unread(before);
    }
  }

  FunctionInFusion& f_;
  std::uint32_t softmax_, scoring_ = 0, product_ = 0, reader_ = 0;
  Dims scores_;
  ValueId x_ = kNoValue, top_ = kNoValue, weights_ = kNoValue, product_score_ = kNoValue;
  ValueId query_ = kNoValue, key_ = kNoValue, value_ = kNoValue;
  std::vector<std::uint32_t> extra_;  ///< reductions of the scores that other nodes read
};

}  // namespace

void join_softmax(FunctionInFusion& f, std::uint32_t i) {
  SoftmaxAttention(f, i).run();
}

}  // namespace tern
