#include <algorithm>

#include "runtime/fuse/uses.h"
#include "schema/epilogue.h"

namespace tern {
namespace {

bool reads_positions_or_blocks(FunctionInFusion& f, const Node& n) {
  return std::ranges::any_of(n.expr.code, [](const Instruction& i) { return i.op == Scalar::index; }) ||
         std::ranges::any_of(n.inputs, [&](ValueId v) { return f.type(v).quantized(); });
}

}  // namespace

void join_reduction(FunctionInFusion& f, std::uint32_t i) {
  const Node& n = f.f.nodes[i];
  const std::int32_t found = f.only_producer(n.inputs[0], i);
  if (found < 0) return;
  const auto p = static_cast<std::uint32_t>(found);
  const Node& producer = f.f.nodes[p];
  if (producer.op != Op::pointwise || producer.expr.code.size() < 2 || f.has_pairs(producer) ||
      reads_positions_or_blocks(f, producer) || !f.may_move(p, f.positions[i]))
    return;
  const Dims sizes = f.type(n.inputs[0]).shape;
  const bool sized = producer.has(AttrKey::sizes);
  f.f.nodes[i].expr = producer.expr;
  f.merge_nodes(i, {p}, std::vector<ValueId>(producer.inputs));
  if (sized) f.f.nodes[i].set(AttrKey::sizes, sizes);
}

}  // namespace tern
