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
  OneOperation one;
  std::size_t done = code.size();  // number of the operation
  for (std::size_t k = 0; k < code.size(); ++k) {
    const Instruction& i = code[k];
    if (i.op == Scalar::load) {
      operands[k] = ScalarOperand{n.inputs[static_cast<std::size_t>(i.integer)], 0};
    } else if (i.op == Scalar::constant && is_floating(i.dtype)) {
      operands[k] = ScalarOperand{kNoValue, i.number};
    } else if (i.op == Scalar::convert && operands[i.a] && compute_type(code[i.a].dtype) == i.dtype) {
      operands[k] = operands[i.a];
    } else if (i.op == Scalar::convert && done == i.a && k + 1 == code.size() && compute_type(result) == one.compute) {
      return one;
    } else {
      const int count = scalar_info(i.op).operands;
      if (done != code.size() || count < 1 || count > 2 || !operands[i.a] || (count == 2 && !operands[i.b])) return {};
      // Only a whole expression may be a conversion without widening.
      if (i.op == Scalar::convert && k + 1 != code.size()) return {};
      done = k;
      one.op = i.op == Scalar::convert ? Scalar::load : i.op;
      one.compute = i.op == Scalar::convert ? code[i.a].dtype : i.dtype;
      one.count = count;
      one.operands[0] = *operands[i.a];
      if (count == 2) one.operands[1] = *operands[i.b];
    }
  }
  if (done == code.size()) {  // a load, or a widening conversion
    if (!operands.back() || operands.back()->value == kNoValue) return {};
    return OneOperation{Scalar::load, code.back().dtype, {*operands.back()}, 1};
  }
  return done + 1 == code.size() ? std::optional(one) : std::nullopt;
}

std::optional<OneOperation> Dataflow::operation(ValueId v) const {
  const Node* n = made_by(v, Op::pointwise);
  return n == nullptr ? std::nullopt : operation(*n);
}

ValueId Dataflow::narrow(ValueId v) const {
  const auto one = operation(v);
  if (!one || one->op != Scalar::load) return v;
  const TensorType &from = type(one->operands[0].value), &to = type(v);
  return from.shape == to.shape && is_floating(from.dtype) && compute_type(from.dtype) == to.dtype
             ? one->operands[0].value
             : v;
}

}  // namespace tern
