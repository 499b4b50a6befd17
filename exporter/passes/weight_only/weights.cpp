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
      : b_(program, function), before_(program.functions[function]), weights_(program, before_) {}

  /// Returns true if a node changed.
  bool run() {
    b_.function().nodes.clear();
    bool changed = false;
    for (const Node& n : before_.nodes) {
      b_.set_origin(n.origin, n.annotations);
      const ValueId made = replacement(n);
      if (made == kNoValue) {
        b_.function().nodes.push_back(n);
      } else {
        b_.function().nodes.back().outputs = n.outputs;
        changed = true;
      }
    }
    return changed;
  }

 private:
  /// Result of the nodes replacing `n`, or none.
  ValueId replacement(const Node& n) {
    if (n.op == Op::index_select) return selection_before_conversion(b_, weights_, n);
    if (n.op != Op::matmul && n.op != Op::grouped_matmul) return kNoValue;
    const DType x = weights_.type(n.inputs[0]).dtype, w = weights_.type(n.inputs[1]).dtype;
    if (x != w || (x != DType::f32 && x != DType::f16 && x != DType::bf16)) return kNoValue;
    const auto operand = trace(weights_, n.inputs[1]);
    if (!operand || (operand->scale && (n.op != Op::matmul || !is_one_matrix(weights_.type(n.inputs[1])))))
      return kNoValue;
    return product(n, *operand);
  }

  /// Batches of matrices with scales become quantized values: exporter/passes/quantized/.
  static bool is_one_matrix(const TensorType& t) {
    return std::ranges::all_of(t.shape.begin(), t.shape.end() - 2, [](const Dim& d) { return d.is(1); });
  }

  ValueId product(const Node& n, const ByteOperand& operand) {
    std::optional<ScaleShapes> shapes;
    if (operand.scale) {
      shapes = shapes_behind_product(weights_, operand);
      if (!shapes) return kNoValue;
    }
    ValueId w = operand.weight;
    for (const Node* view : operand.views) {
      Node same = *view;
      same.inputs[0] = w;
      same.outputs.clear();
      w = b_.add(std::move(same)).front();
    }
    Node made = n;
    made.inputs[1] = w;
    made.outputs.clear();
    if (!shapes) return b_.add(std::move(made)).front();
    const DType result = weights_.type(n.outputs[0]).dtype;
    const ValueId scale = scale_behind_product(b_, operand, *shapes),
                  bias = made.inputs.size() > 2 ? made.inputs[2] : kNoValue;
    made.inputs.resize(2);
    made.set(AttrKey::dtype, Dims{static_cast<std::int64_t>(DType::f32)});
    const ValueId sums = b_.add(std::move(made)).front();
    if (bias == kNoValue) return b_.expr("y * s", {{"y", sums}, {"s", scale}}, DType::f32, result);
    return b_.expr("y * s + b", {{"y", sums}, {"s", scale}, {"b", bias}}, DType::f32, result);
  }

  Builder b_;
  const Function before_;
  ByteWeights weights_;
};

}  // namespace

void read_byte_weights(Program& program) {
  const auto is_weight = [](const State& s) { return is_byte(s.type.dtype); };
  if (std::ranges::none_of(program.states, is_weight)) return;
  bool changed = false;
  for (std::uint32_t f = 0; f < program.functions.size(); ++f) changed |= Rewriter(program, f).run();
  if (changed) remove_dead_code(program);
}

}  // namespace tern
