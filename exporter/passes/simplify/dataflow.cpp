#include "exporter/passes/simplify/dataflow.h"

namespace tern {

Dataflow::Dataflow(const Function& f) : f_(f), def_use_(f) {}

const Node* Dataflow::made_by(ValueId v, Op op) const {
  const Node* n = def_use_.producing_node(f_, v);
  return n != nullptr && n->op == op && n->outputs[0] == v ? n : nullptr;
}

std::optional<OneOperation> Dataflow::operation(const Node& n) const {
  if (n.op != Op::pointwise || n.outputs[0] == kNoValue) return std::nullopt;
  const std::vector<Instruction>& code = n.expr.code;
  const DType result = type(n.outputs[0]).dtype;
  // Operand of each instruction; absent for the operation itself and its rounding.
  std::vector<std::optional<ScalarOperand>> operands(code.size());
  OneOperation single_operation;
  std::size_t operation_index = code.size();  // number of the operation
  for (std::size_t k = 0; k < code.size(); ++k) {
    const Instruction& i = code[k];
    if (i.op == Scalar::load) {
      operands[k] = ScalarOperand{n.inputs[static_cast<std::size_t>(i.integer)], 0};
    } else if (i.op == Scalar::constant && is_floating(i.dtype)) {
      operands[k] = ScalarOperand{kNoValue, i.number};
    } else if (i.op == Scalar::convert && operands[i.a] && compute_type(code[i.a].dtype) == i.dtype) {
      operands[k] = operands[i.a];
    } else if (i.op == Scalar::convert && operation_index == i.a && k + 1 == code.size() &&
               compute_type(result) == single_operation.compute) {
      return single_operation;
    } else {
      const int count = scalar_info(i.op).operands;
      if (operation_index != code.size() || count < 1 || count > 2 || !operands[i.a] || (count == 2 && !operands[i.b]))
        return {};
      // Only a whole expression may be a conversion without widening.
      if (i.op == Scalar::convert && k + 1 != code.size()) return {};
      operation_index = k;
      single_operation.op = i.op == Scalar::convert ? Scalar::load : i.op;
      single_operation.compute = i.op == Scalar::convert ? code[i.a].dtype : i.dtype;
      single_operation.count = count;
      single_operation.operands[0] = *operands[i.a];
      if (count == 2) single_operation.operands[1] = *operands[i.b];
    }
  }
  if (operation_index == code.size()) {  // a load, or a widening conversion
    if (!operands.back() || operands.back()->value == kNoValue) return {};
    return OneOperation{Scalar::load, code.back().dtype, {*operands.back()}, 1};
  }
  return operation_index + 1 == code.size() ? std::optional(single_operation) : std::nullopt;
}

std::optional<OneOperation> Dataflow::operation(ValueId v) const {
  const Node* n = made_by(v, Op::pointwise);
  return n == nullptr ? std::nullopt : operation(*n);
}

ValueId Dataflow::before_widening(ValueId v) const {
  const auto single_operation = operation(v);
  if (!single_operation || single_operation->op != Scalar::load) return v;
  const TensorType &narrow_type = type(single_operation->operands[0].value), &wide_type = type(v);
  return narrow_type.shape == wide_type.shape && is_floating(narrow_type.dtype) &&
                 compute_type(narrow_type.dtype) == wide_type.dtype
             ? single_operation->operands[0].value
             : v;
}

}  // namespace tern
