#include <algorithm>
#include <utility>

#include "exporter/builder.h"
#include "exporter/passes/passes.h"
#include "exporter/passes/weight_only/scale.h"
#include "exporter/passes/weight_only/selection.h"
#include "exporter/passes/weight_only/trace.h"
#include "schema/passes/dead_code.h"

namespace tern {
namespace {

using namespace weight_only;

/// Rewrites the nodes of one function in order.
class Rewriter {
 public:
  Rewriter(Program& program, std::uint32_t function)
      : b_(program, function), original_(program.functions[function]), weights_(program, original_) {}

  /// Returns true if a node changed.
  bool run() {
    b_.function().nodes.clear();
    bool is_changed = false;
    for (const Node& n : original_.nodes) {
      b_.set_origin(n.origin, n.annotations);
      const ValueId result = replacement(n);
      if (result == kNoValue) {
        b_.function().nodes.push_back(n);
      } else {
        b_.function().nodes.back().outputs = n.outputs;
        is_changed = true;
      }
    }
    return is_changed;
  }

 private:
  /// Result of the nodes replacing `n`, or none.
  ValueId replacement(const Node& n) {
    if (n.op == Op::index_select) return selection_before_conversion(b_, weights_, n);
    if (n.op != Op::matmul && n.op != Op::grouped_matmul) return kNoValue;
    const DType x_type = weights_.type(n.inputs[0]).dtype, weight_type = weights_.type(n.inputs[1]).dtype;
    if (x_type != weight_type || (x_type != DType::f32 && x_type != DType::f16 && x_type != DType::bf16))
      return kNoValue;
    const auto operand = trace(weights_, n.inputs[1]);
    if (!operand || (operand->scale && (n.op != Op::matmul || !is_single_matrix(weights_.type(n.inputs[1])))))
      return kNoValue;
    return replace_product(n, *operand);
  }

  /// True if all axes but the last two have size 1. Batches of matrices with scales become quantized values instead
  /// (exporter/passes/quantized/).
  static bool is_single_matrix(const TensorType& t) {
    return std::ranges::all_of(t.shape.begin(), t.shape.end() - 2, [](const Dim& d) { return d.is(1); });
  }

  /// Adds the product with the byte weight itself, then the scale and the bias; none if the scale cannot follow it.
  ValueId replace_product(const Node& n, const ByteOperand& operand) {
    std::optional<ScaleShapes> shapes;
    if (operand.scale) {
      shapes = shapes_behind_product(weights_, operand);
      if (!shapes) return kNoValue;
    }
    ValueId weight = operand.weight;
    for (const Node* view : operand.views) {
      Node view_copy = *view;
      view_copy.inputs[0] = weight;
      view_copy.outputs.clear();
      weight = b_.add(std::move(view_copy)).front();
    }
    Node node = n;
    node.inputs[1] = weight;
    node.outputs.clear();
    if (!shapes) return b_.add(std::move(node)).front();
    const DType result_type = weights_.type(n.outputs[0]).dtype;
    const ValueId scale = scale_behind_product(b_, operand, *shapes),
                  bias = node.inputs.size() > 2 ? node.inputs[2] : kNoValue;
    node.inputs.resize(2);
    node.set(AttrKey::dtype, Dims{static_cast<std::int64_t>(DType::f32)});
    const ValueId sums = b_.add(std::move(node)).front();
    if (bias == kNoValue) return b_.expr("y * s", {{"y", sums}, {"s", scale}}, DType::f32, result_type);
    return b_.expr("y * s + b", {{"y", sums}, {"s", scale}, {"b", bias}}, DType::f32, result_type);
  }

  Builder b_;
  const Function original_;
  ByteWeights weights_;
};

}  // namespace

void read_byte_weights(Program& program) {
  const auto is_weight = [](const State& s) { return is_byte(s.type.dtype); };
  if (std::ranges::none_of(program.states, is_weight)) return;
  bool is_changed = false;
  for (std::uint32_t f = 0; f < program.functions.size(); ++f) is_changed |= Rewriter(program, f).run();
  if (is_changed) remove_dead_code(program);
}

}  // namespace tern
