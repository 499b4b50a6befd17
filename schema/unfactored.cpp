#include "schema/unfactored.h"

#include "schema/infer.h"

namespace tern {

bool is_unfactored(const Node& node, const std::vector<const TensorType*>& inputs) {
  return node.op == Op::lu_solve && inputs.size() == 3 && inputs[1] == nullptr;
}

std::vector<TensorType> infer_unfactored(const Program& program, ExprPool& pool, const Node& node,
                                         const std::vector<const TensorType*>& inputs) {
  Node factor, solve;
  factor.op = Op::lu_factor;
  solve.op = node.op;
  for (const Attr& a : node.attrs) (a.key == AttrKey::check ? factor : solve).attrs.push_back(a);
  const std::vector<TensorType> f = infer(program, pool, factor, {inputs[0]});
  return infer(program, pool, solve, {&f.at(0), &f.at(1), inputs[2]});
}

}  // namespace tern
