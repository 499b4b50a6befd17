#include "exporter/passes/weight_only/selection.h"

#include <algorithm>
#include <utility>

namespace tern::weight_only {
namespace {

constexpr int kDeepest = 4;               // longest chain of pointwise nodes
constexpr std::size_t kMostOperands = 4;  // of each

class Selection {
 public:
  Selection(Builder& b, const ByteWeights& weights, const Node& n)
      : b_(b), weights_(weights), index_(n.inputs[1]), rank_(weights.type(n.inputs[0]).rank()) {
    axis_ = n.integer(AttrKey::axis);
    if (axis_ < 0) axis_ += rank_;
  }

  /// True if the value is a weight of 8 bits, or pointwise nodes compute it of one with the same size along the axis.
  bool reads_weight(ValueId v, int depth = 0) const {
    if (weights_.is_byte_state(v)) return own_axis(v) >= 0 && !is_one(v);
    const Node* n = weights_.node(v);
    if (n == nullptr || !is_passed(*n) || depth == kDeepest || own_axis(v) < 0) return false;
    return std::ranges::any_of(n->inputs, [&](ValueId in) { return reads_weight(in, depth + 1); });
  }

  ValueId of(ValueId v) {
    const std::int64_t axis = own_axis(v);
    if (axis < 0) return v;
    if (is_one(v)) return with_axes_of_index(v, axis);
    if (weights_.is_byte_state(v) || !reads_weight(v)) return b_.index_select(v, index_, axis);
    Node same = *weights_.node(v);
    for (ValueId& in : same.inputs) in = of(in);
    same.outputs.clear();
    return b_.add(std::move(same)).front();
  }

 private:
  static bool is_passed(const Node& n) {
    const auto has_position = [](const Instruction& i) { return i.op == Scalar::index; };
    return n.op == Op::pointwise && n.inputs.size() <= kMostOperands && std::ranges::none_of(n.expr.code, has_position);
  }

  /// Axes are counted from the last, as they broadcast.
  std::int64_t own_axis(ValueId v) const { return axis_ - (rank_ - weights_.type(v).rank()); }
  bool is_one(ValueId v) const { return weights_.type(v).shape[static_cast<std::size_t>(own_axis(v))].is(1); }

  ValueId with_axes_of_index(ValueId v, std::int64_t axis) {
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
  return selection.of(n.inputs[0]);
}

}  // namespace tern::weight_only
