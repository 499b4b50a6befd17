#include "exporter/passes/weight_only/selection.h"

#include <algorithm>
#include <utility>

namespace tern::weight_only {
namespace {

constexpr int kMaxDepth = 4;             // longest chain of pointwise nodes
constexpr std::size_t kMaxOperands = 4;  // of each

class Selection {
 public:
  Selection(Builder& b, const ByteWeights& weights, const Node& n)
      : b_(b), weights_(weights), index_(n.inputs[1]), rank_(weights.type(n.inputs[0]).rank()) {
    axis_ = n.integer(AttrKey::axis);
    if (axis_ < 0) axis_ += rank_;
  }

  /// True if the value is a weight of 8 bits, or pointwise nodes compute it of one with the same size along the axis.
  bool reads_weight(ValueId v, int depth = 0) const {
    if (weights_.is_byte_state(v)) return axis_in(v) >= 0 && !has_size_one(v);
    const Node* n = weights_.node(v);
    if (n == nullptr || !accepts_selected_operands(*n) || depth == kMaxDepth || axis_in(v) < 0) return false;
    return std::ranges::any_of(n->inputs, [&](ValueId operand) { return reads_weight(operand, depth + 1); });
  }

  /// Returns the selected rows of `v`; selects from its operands where pointwise nodes convert a weight.
  ValueId select(ValueId v) {
    const std::int64_t axis = axis_in(v);
    if (axis < 0) return v;
    if (has_size_one(v)) return add_index_axes(v, axis);
    if (weights_.is_byte_state(v) || !reads_weight(v)) return b_.index_select(v, index_, axis);
    Node node_copy = *weights_.node(v);
    for (ValueId& operand : node_copy.inputs) operand = select(operand);
    node_copy.outputs.clear();
    return b_.add(std::move(node_copy)).front();
  }

 private:
  static bool accepts_selected_operands(const Node& n) {
    const auto has_position = [](const Instruction& i) { return i.op == Scalar::index; };
    return n.op == Op::pointwise && n.inputs.size() <= kMaxOperands && std::ranges::none_of(n.expr.code, has_position);
  }

  /// Position of the selected axis in `v`, which broadcasts to the table; negative if `v` lacks the axis.
  std::int64_t axis_in(ValueId v) const { return axis_ - (rank_ - weights_.type(v).rank()); }
  bool has_size_one(ValueId v) const { return weights_.type(v).shape[static_cast<std::size_t>(axis_in(v))].is(1); }

  ValueId add_index_axes(ValueId v, std::int64_t axis) {
    Dims shape = b_.shape(v);
    shape.erase(shape.begin() + axis);
    shape.insert(shape.begin() + axis, static_cast<std::size_t>(b_.rank(index_)), Dim(1));
    return b_.reshape(v, std::move(shape));
  }

  Builder& b_;
  const ByteWeights& weights_;
  ValueId index_;
  std::int64_t axis_ = 0;
  int rank_;
};

}  // namespace

ValueId selection_before_conversion(Builder& b, const ByteWeights& weights, const Node& n) {
  Selection selection(b, weights, n);
  if (weights.node(n.inputs[0]) == nullptr || !selection.reads_weight(n.inputs[0])) return kNoValue;
  return selection.select(n.inputs[0]);
}

}  // namespace tern::weight_only
