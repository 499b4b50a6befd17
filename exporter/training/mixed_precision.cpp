#include "exporter/training/mixed_precision.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "exporter/builder.h"
#include "schema/node_precision.h"
#include "schema/op_record.h"

namespace tern {
namespace {

/// Operators whose results have the type of their operands in torch.autocast, by the name without overload.
constexpr std::string_view kNarrowOperators[] = {
    "aten.relu",   "aten.gelu",       "aten.silu",      "aten.tanh",     "aten.sigmoid", "aten.leaky_relu",
    "aten.elu",    "aten.selu",       "aten.hardswish", "aten.hardtanh", "aten.mish",    "aten.hardsigmoid",
    "aten.relu_",  "aten.gelu_",      "aten.silu_",     "aten.add",      "aten.add_",    "aten.sub",
    "aten.mul",    "aten.mul_",       "aten.div",       "aten.dropout",  "aten.neg",     "aten.masked_fill",
    "aten.where",  "aten.linear",     "aten.addmm",     "aten.baddbmm",  "aten.conv1d",  "aten.conv2d",
    "aten.conv3d", "aten.convolution"};

class Narrowing {
 public:
  Narrowing(Program& program, std::uint32_t function, DType narrow_dtype)
      : b_(program, function), narrow_dtype_(narrow_dtype) {}

  std::size_t run() {
    std::vector<Node> old_nodes = std::move(b_.function().nodes);
    b_.function().nodes.clear();
    for (Node& n : old_nodes) {
      b_.set_origin(n.origin, n.annotations);
      if (is_single(n) && has_precision(n.op)) {
        add_product(std::move(n));
      } else if (is_single(n) && is_view(n.op) && narrowed_.contains(n.inputs[0])) {
        add_view(std::move(n));
      } else {
        add_other(std::move(n));
      }
    }
    b_.set_origin(-1);
    return products_;
  }

 private:
  /// True for one float32 result of a float32 first operand.
  bool is_single(const Node& n) {
    return n.outputs.size() == 1 && n.outputs[0] != kNoValue && b_.dtype(n.outputs[0]) == DType::f32 &&
           !n.inputs.empty() && n.inputs[0] != kNoValue && is_plain_float32(n.inputs[0]);
  }
  bool is_plain_float32(ValueId v) { return b_.dtype(v) == DType::f32 && !b_.type(v).quantized(); }

  /// The 16-bit form of a value. Views of parameters become views of the narrow parameter: gradients find the form of
  /// their weights.
  ValueId narrow_of(ValueId v) {
    if (!is_plain_float32(v)) return v;
    if (const auto found = narrowed_.find(v); found != narrowed_.end()) return found->second;
    const auto view = views_.find(v);
    ValueId narrow_value = kNoValue;
    if (view != views_.end()) {
      Node copy = view->second;
      copy.inputs[0] = narrow_of(copy.inputs[0]);
      copy.outputs.clear();
      narrow_value = b_.add(std::move(copy)).front();
    } else {
      narrow_value = b_.cast(v, narrow_dtype_);
    }
    return narrowed_[v] = narrow_value;
  }

  /// Makes `narrow_value`, converted back, the value `v`.
  void define(ValueId v, ValueId narrow_value) {
    b_.cast(narrow_value, DType::f32);
    b_.function().nodes.back().outputs[0] = v;
    narrowed_[v] = narrow_value;
  }

  void add_product(Node n) {
    const ValueId result = n.outputs[0];
    const bool masked = n.op == Op::attention;
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      if (n.inputs[i] != kNoValue && !(masked && i == 3)) n.inputs[i] = narrow_of(n.inputs[i]);
    }
    // Operands of other types, such as quantized weights, stay beside float32.
    std::erase_if(n.attrs, [](const Attr& a) { return a.key == AttrKey::dtype; });
    n.outputs.clear();
    ++products_;
    define(result, b_.add(std::move(n)).front());
  }

  void add_view(Node n) {
    const ValueId result = n.outputs[0];
    n.inputs[0] = narrowed_.at(n.inputs[0]);
    n.outputs.clear();
    define(result, b_.add(std::move(n)).front());
  }

  void add_other(Node n) {
    const bool has_one_result = is_single(n);
    const ValueId result = has_one_result ? n.outputs[0] : kNoValue;
    const bool rounds = has_one_result && n.op == Op::pointwise && is_narrow_operator(n) && reads_narrow(n);
    if (has_one_result && is_view(n.op) && n.inputs.size() == 1) views_[result] = n;
    const ValueId unrounded = rounds ? b_.add_value(TensorType(b_.type(result))) : kNoValue;
    if (rounds) n.outputs[0] = unrounded;
    b_.function().nodes.push_back(std::move(n));
    if (rounds) define(result, b_.cast(unrounded, narrow_dtype_));
  }

  bool is_narrow_operator(const Node& n) {
    const std::vector<Origin>& origins = b_.program().origins;
    if (n.origin < 0 || static_cast<std::size_t>(n.origin) >= origins.size()) return false;
    const std::string_view op = origins[static_cast<std::size_t>(n.origin)].op;
    return std::ranges::find(kNarrowOperators, op.substr(0, op.rfind('.'))) != std::end(kNarrowOperators);
  }

  /// True if all float32 operands with axes are narrow, and one is.
  bool reads_narrow(const Node& n) {
    bool has_narrowed = false;
    for (const ValueId v : n.inputs) {
      if (v == kNoValue || b_.rank(v) == 0 || b_.dtype(v) == DType::boolean) continue;
      if (!narrowed_.contains(v)) return false;
      has_narrowed = true;
    }
    return has_narrowed;
  }

  Builder b_;
  const DType narrow_dtype_;
  std::map<ValueId, ValueId> narrowed_;  ///< 16-bit form of float32 values
  std::map<ValueId, Node> views_;        ///< by result
  std::size_t products_ = 0;
};

}  // namespace

std::size_t narrow_products(Program& program, std::uint32_t function, DType narrow_dtype) {
  return Narrowing(program, function, narrow_dtype).run();
}

}  // namespace tern
