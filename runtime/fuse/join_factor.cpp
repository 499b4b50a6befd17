#include <algorithm>

#include "runtime/fuse/uses.h"
#include "schema/linalg_kinds.h"

namespace tern {
namespace {

/// Returns the lu_factor with node `solve` as the only reader of LU and pivots; -1 if none exists.
std::int32_t factor_of(FunctionInFusion& f, std::uint32_t solve) {
  const Node& n = f.f.nodes[solve];
  const std::int32_t at = f.only_producer(n.inputs[0], solve);
  if (at < 0 || f.only_producer(n.inputs[1], solve) != at) return -1;
  const Node& factor = f.f.nodes[static_cast<std::size_t>(at)];
  const bool own = factor.op == Op::lu_factor && factor.outputs[0] == n.inputs[0] && factor.outputs[1] == n.inputs[1];
  return own ? at : -1;
}

/// False for a matrix shared by many right-hand sides: such a matrix is factored once.
bool same_batch(const Dims& matrix, const Dims& result) {
  return matrix.size() == result.size() && std::equal(matrix.begin(), matrix.end() - 2, result.begin());
}

}  // namespace

void join_factor(FunctionInFusion& f, std::uint32_t i) {
  const Node& n = f.f.nodes[i];
  const auto transpose = static_cast<TransposeKind>(n.integer(AttrKey::transpose));
  if (n.integer(AttrKey::left) == 0 || transpose == TransposeKind::adjoint || n.outputs[0] == kNoValue) return;
  const std::int32_t at = factor_of(f, i);
  if (at < 0) return;
  const auto factor = static_cast<std::uint32_t>(at);
  const ValueId a = f.f.nodes[factor].inputs[0], info = f.f.nodes[factor].outputs[2];
  if (is_complex(f.type(a).dtype)) return;  // two definitions beat LAPACK on small complex matrices
  if (!same_batch(f.type(a).shape, f.type(n.outputs[0]).shape) || !f.may_move(factor, f.positions[i])) return;
  if (info != kNoValue && (f.value_use(info).readers > 0 || f.value_use(info).pinned)) return;

  const ValueId rhs = n.inputs[2];
  if (rhs == n.inputs[0]) return;  // the factors are needed in addition to the solution

  const std::int64_t check = f.f.nodes[factor].integer(AttrKey::check);
  f.merge_nodes(i, {factor}, {a, kNoValue, rhs});
  f.f.nodes[i].set(AttrKey::check, Dims{check});
  f.numbers[i] = f.numbers[factor];
}

}  // namespace tern
