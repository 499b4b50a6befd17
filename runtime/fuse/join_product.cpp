#include <algorithm>

#include "dtypes/byte_integers.h"
#include "runtime/fuse/expression.h"
#include "runtime/fuse/uses.h"
#include "schema/epilogue.h"

namespace tern {
namespace {

/// A product or convolution and the views leading to the only reader of its result.
struct ViewedProduct {
  std::int32_t node = -1;
  std::vector<std::uint32_t> views;
};

/// True if the view keeps the order of elements: a reshape, or a permutation of axes of size 1.
bool keeps_order(const FunctionInFusion& f, const Node& n) {
  if (n.op == Op::reshape) return true;
  if (n.op != Op::permute) return false;
  const Dims& shape = f.type(n.inputs[0]).shape;
  std::int64_t last = -1;
  for (Dim axis : n.dims(AttrKey::axes)) {
    const std::int64_t a = axis.value() < 0 ? axis.value() + static_cast<std::int64_t>(shape.size()) : axis.value();
    if (shape[static_cast<std::size_t>(a)].is(1)) continue;
    if (a < last) return false;
    last = a;
  }
  return true;
}

/// Finds the product producing `v` for node `reader` alone.
ViewedProduct product_behind(FunctionInFusion& f, ValueId v, std::uint32_t reader) {
  ViewedProduct p;
  for (std::int32_t at = f.only_producer(v, reader); at >= 0;) {
    const auto i = static_cast<std::uint32_t>(at);
    const Node& n = f.f.nodes[i];
    if (takes_epilogue(n.op)) {
      p.node = at;
      return p;
    }
    if (!keeps_order(f, n)) return {};
    p.views.push_back(i);
    at = f.only_producer(n.inputs[0], i);
  }
  return {};
}

/// True if `v` may have strides not viewable by a reshape.
bool may_be_strided(FunctionInFusion& f, ValueId v) {
  const std::int32_t p = f.value_use(v).producer;
  if (p < 0) return false;
  const Op op = f.f.nodes[static_cast<std::size_t>(p)].op;
  return op == Op::permute || op == Op::slice || op == Op::expand || op == Op::as_strided;
}

/// True if operand `v` of a result of shape `shape` can be reshaped along with the result to `to`.
bool follows(FunctionInFusion& f, ValueId v, const Dims& shape, const Dims& to) {
  const Dims& own = f.type(v).shape;
  if (own == shape) return !may_be_strided(f, v) || shape == to;
  if (f.one_element(v)) return own.size() <= to.size();
  return own.size() == 1 && !shape.empty() && !to.empty() && shape.back() == to.back();
}

bool reads_positions(const PointwiseExpr& expr) {
  return std::ranges::any_of(expr.code, [](const Instruction& i) { return i.op == Scalar::index; });
}

/// True if product `p`, producing operand `v` of pointwise node `i`, can absorb the node at `operands_end`.
bool suits(FunctionInFusion& f, std::uint32_t i, ValueId v, const ViewedProduct& p, NodePosition operands_end) {
  if (p.node < 0 || !f.may_move(static_cast<std::uint32_t>(p.node), operands_end)) return false;
  const Node& n = f.f.nodes[i];
  const Node& producer = f.f.nodes[static_cast<std::size_t>(p.node)];
  const TensorType& result = f.type(n.outputs[0]);
  if (f.type(v).dtype != DType::f32 || f.type(v).shape != result.shape ||
      f.type(producer.outputs[0]).dtype != DType::f32)
    return false;
  if (is_byte_integer(result.dtype) && !multiplies_bytes(f.type(producer.inputs[0]), f.type(producer.inputs[1])))
    return false;
  if (n.expr.code.size() + producer.expr.code.size() > kMaxFusedInstructions ||
      n.inputs.size() + producer.inputs.size() > kMaxFusedOperands)
    return false;
  if (p.views.empty()) return true;
  return !reads_positions(n.expr) && std::ranges::all_of(n.inputs, [&](ValueId o) {
    return o == v || follows(f, o, result.shape, f.type(producer.outputs[0]).shape);
  });
}

}  // namespace

void join_product(FunctionInFusion& f, std::uint32_t i) {
  const ValueId output = f.f.nodes[i].outputs[0];
  const Dims shape = f.type(output).shape;
  const DType dtype = f.type(output).dtype;
  if ((dtype != DType::f32 && !is_byte_integer(dtype)) || f.has_pairs(f.f.nodes[i]) || f.value_use(output).written_back)
    return;
  const NodePosition operands_end = f.operands_position(f.f.nodes[i].inputs);
  ViewedProduct product;
  ValueId own = kNoValue;
  for (ValueId v : f.f.nodes[i].inputs) {
    ViewedProduct p = product_behind(f, v, i);
    if (!suits(f, i, v, p, operands_end)) continue;
    // Prefers the later of two products: the other product's result exists by then.
    if (product.node >= 0 &&
        f.positions[static_cast<std::size_t>(p.node)] < f.positions[static_cast<std::size_t>(product.node)])
      continue;
    product = std::move(p);
    own = v;
  }
  if (product.node < 0) return;
  const auto at = static_cast<std::uint32_t>(product.node);
  const Dims inner_shape = f.type(f.f.nodes[at].outputs[0]).shape;
  const NodePosition position{operands_end[0], i, 1};

  std::vector<ValueId> operands = f.f.nodes[i].inputs;
  for (ValueId& v : operands) {
    if (v != own && !product.views.empty() && f.type(v).shape == shape && shape != inner_shape)
      v = f.reshape(v, inner_shape, {operands_end[0], i, 0}, i);
  }
  const Node& n = f.f.nodes[i];
  const Node& producer = f.f.nodes[at];
  ExpressionBuilder b;
  std::uint16_t start = b.load(kOwnResult, DType::f32);
  if (!producer.expr.code.empty()) {
    std::vector<std::uint16_t> loads{start};
    for (std::size_t k = kEpilogueOperands; k < producer.inputs.size(); ++k)
      loads.push_back(b.load(producer.inputs[k], f.type(producer.inputs[k]).dtype));
    start = b.append(producer.expr, loads);
  }
  std::vector<std::uint16_t> loads;
  for (ValueId v : operands) loads.push_back(v == own ? start : b.load(v, f.type(v).dtype));

  Node fused = producer;
  fused.expr = b.finish(b.append(n.expr, loads));
  fused.inputs.resize(kEpilogueOperands, kNoValue);
  fused.inputs.insert(fused.inputs.end(), b.operands().begin() + 1, b.operands().end());
  std::vector<std::uint32_t> merged = product.views;
  merged.push_back(at);
  f.merge_nodes(i, merged, std::move(fused.inputs));
  fused.inputs = std::move(f.f.nodes[i].inputs);
  fused.outputs = {output};
  f.f.nodes[i] = std::move(fused);
  f.numbers[i] = f.numbers[at];
  f.positions[i] = position;
  if (shape != inner_shape) f.give_shape(i, inner_shape);
}

}  // namespace tern
