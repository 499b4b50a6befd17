#include "schema/epilogue.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "dtypes/byte_integers.h"
#include "schema/infer.h"

namespace tern {

bool takes_epilogue(Op op) {
  return op == Op::matmul || op == Op::convolution;
}

bool multiplies_bytes(const TensorType& a, const TensorType& b) {
  return is_byte_integer(a.dtype) && is_byte_integer(b.dtype) && !b.quantized();
}

bool takes_prologue(Op op) {
  return op == Op::reduce;
}

bool takes_score_function(Op op) {
  return op == Op::attention;
}

namespace {

std::vector<TensorType> infer_with_prologue(const Program& program, ExprPool& pool, const Node& node,
                                            const std::vector<const TensorType*>& inputs) {
  Node head, op;
  head.op = Op::pointwise;
  head.expr = node.expr;
  op.op = node.op;
  op.version = node.version;
  for (const Attr& a : node.attrs) (a.key == AttrKey::sizes ? head : op).attrs.push_back(a);
  const std::vector<TensorType> operand = infer(program, pool, head, inputs);
  return infer(program, pool, op, {&operand.at(0)});
}

std::vector<TensorType> infer_without_expression(const Program& program, ExprPool& pool, const Node& node,
                                                 const std::vector<const TensorType*>& inputs) {
  Node op;
  op.op = node.op;
  op.version = node.version;
  op.attrs = node.attrs;
  return infer(program, pool, op, inputs);
}

std::vector<TensorType> infer_with_epilogue(const Program& program, ExprPool& pool, const Node& node,
                                            const std::vector<const TensorType*>& inputs) {
  const auto own_operands = static_cast<std::ptrdiff_t>(std::min(inputs.size(), kEpilogueOperands));
  const std::vector<TensorType> result =
      infer_without_expression(program, pool, node, {inputs.begin(), inputs.begin() + own_operands});
  Node tail;
  tail.op = Op::pointwise;
  tail.expr = node.expr;
  std::vector<const TensorType*> operands{&result.at(0)};
  operands.insert(operands.end(), inputs.begin() + own_operands, inputs.end());
  std::vector<TensorType> types = infer(program, pool, tail, operands);
  const DType product_dtype = types.at(0).dtype;
  const bool has_epilogue_dtype =
      product_dtype == DType::f32 || (is_byte_integer(product_dtype) && multiplies_bytes(*inputs.at(0), *inputs.at(1)));
  if (!takes_epilogue(node.op) || result[0].dtype != DType::f32 || !has_epilogue_dtype)
    fail(ErrorCode::internal, "an expression was fused into an op whose result it cannot replace");
  // Sizes declared equal by the program may differ in a run.
  if (types.at(0).shape != result[0].shape)
    fail(ErrorCode::runtime,
         fmt::format("the result is {}, but the program declares the same sizes for the value computed from it, {}",
                     text_of(result[0], pool), text_of(types[0], pool)));
  return types;
}

std::vector<TensorType> infer_with_score_function(const Program& program, ExprPool& pool, const Node& node,
                                                  const std::vector<const TensorType*>& inputs) {
  const auto own_operands = static_cast<std::ptrdiff_t>(std::min(inputs.size(), kAttentionOperands));
  std::vector<TensorType> types =
      infer_without_expression(program, pool, node, {inputs.begin(), inputs.begin() + own_operands});
  TensorType scores{DType::f32, types.at(0).shape}, sums = scores;
  scores.shape.back() = inputs[1]->shape[inputs[1]->shape.size() - 2];
  sums.shape.pop_back();
  Node function;
  function.op = Op::pointwise;
  function.expr = node.expr;
  std::vector<const TensorType*> operands{&scores};
  operands.insert(operands.end(), inputs.begin() + own_operands, inputs.end());
  const std::vector<TensorType> program_types = infer(program, pool, function, operands);
  if (types[0].dtype == DType::f64 || program_types.at(0).dtype != DType::f32)
    fail(ErrorCode::internal, "a score function was fused into attention whose scores it cannot replace");
  if (program_types[0].shape != scores.shape)
    fail(ErrorCode::runtime, fmt::format("the scores are {}, but their function gives {}", text_of(scores, pool),
                                         text_of(program_types[0], pool)));
  types.insert(types.end(), 2, sums);
  return types;
}

}  // namespace

std::vector<TensorType> infer_with_expression(const Program& program, ExprPool& pool, const Node& node,
                                              const std::vector<const TensorType*>& inputs) {
  if (takes_score_function(node.op)) return infer_with_score_function(program, pool, node, inputs);
  return (takes_prologue(node.op) ? infer_with_prologue : infer_with_epilogue)(program, pool, node, inputs);
}

}  // namespace tern
