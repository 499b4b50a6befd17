#include "schema/epilogue.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "schema/infer.h"

namespace tern {

bool takes_epilogue(Op op) {
  return op == Op::matmul || op == Op::convolution;
}

std::vector<TensorType> infer_with_epilogue(const Program& program, ExprPool& pool, const Node& node,
                                            const std::vector<const TensorType*>& inputs) {
  Node op;
  op.op = node.op;
  op.version = node.version;
  op.attrs = node.attrs;
  const auto own = static_cast<std::ptrdiff_t>(std::min(inputs.size(), kEpilogueOperands));
  const std::vector<TensorType> result = infer(program, pool, op, {inputs.begin(), inputs.begin() + own});
  Node tail;
  tail.op = Op::pointwise;
  tail.expr = node.expr;
  std::vector<const TensorType*> operands{&result.at(0)};
  operands.insert(operands.end(), inputs.begin() + own, inputs.end());
  std::vector<TensorType> types = infer(program, pool, tail, operands);
  if (!takes_epilogue(node.op) || result[0].dtype != DType::f32 || types.at(0).dtype != DType::f32)
    fail(ErrorCode::internal, "an expression was fused into an op whose result it cannot replace");
  // Sizes that the program declares equal may differ in a run.
  if (types.at(0) != result[0])
    fail(ErrorCode::runtime,
         fmt::format("the result is {}, but the program declares that what is computed of it, {}, has its sizes",
                     text_of(result[0], pool), text_of(types[0], pool)));
  return types;
}

}  // namespace tern
