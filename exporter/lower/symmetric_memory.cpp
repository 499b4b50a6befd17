// torch.ops.symm_mem: operators accepted by torch.export, with the results of collectives. Tern communicates; PyTorch
// uses memory shared by all ranks.
#include <tern/collective.h>

#include "exporter/lower/collective.h"
#include "exporter/lower/lower.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

/// Rank count of the exporting process, derived from sizes: the operators do not state it.
std::int64_t ranks_of(const Call& c, const Dim& larger, const Dim& smaller) {
  if (!larger.is_const() || !smaller.is_const() || smaller.value() == 0 || larger.value() % smaller.value() != 0)
    c.unsupported("the number of ranks follows from sizes, which must be constants: export it for fixed sizes");
  return larger.value() / smaller.value();
}

std::int64_t axis_of(Builder& b, ValueId x, std::int64_t axis) {
  return axis < 0 ? axis + b.rank(x) : axis;
}

Values all_reduce_symmetric(Builder& b, const Call& c) {
  return {add_collective(b, c, c.tensor("input"), CollectiveKind::all_reduce, 0, c.text("reduce_op"))};
}
/// PyTorch's buffer is scratch memory.
Values all_reduce_copy(Builder& b, const Call& c) {
  return {add_collective(b, c, c.tensor("local_input"), CollectiveKind::all_reduce, 0, c.text("reduce_op"))};
}
Values all_gather_symmetric(Builder& b, const Call& c) {
  const ValueId x = c.tensor("tensor");
  const std::int64_t ranks = ranks_of(c, c.declared[0].shape[0], b.type(x).shape[0]);
  return {add_collective(b, c, x, CollectiveKind::all_gather, ranks, "")};
}
Values reduce_scatter_symmetric(Builder& b, const Call& c) {
  const ValueId x = c.tensor("tensor");
  const std::int64_t ranks = ranks_of(c, b.type(x).shape[0], c.declared[0].shape[0]);
  return {add_collective(b, c, x, CollectiveKind::reduce_scatter, ranks, c.text("reduce_op"))};
}

/// Gathers all ranks' A along an axis, then multiplies.
Values all_gather_matmul(Builder& b, const Call& c) {
  const ValueId a = c.tensor("A");
  const std::vector<ValueId>& right_operands = c.tensors("Bs");
  const std::int64_t axis = axis_of(b, a, c.integer("gather_dim"));
  const bool is_full = c.flag_or("return_A", true);
  const TensorType& result = c.declared[is_full || right_operands.empty() ? 0 : c.declared.size() - 1];
  if (axis + 1 == b.rank(a)) c.unsupported("it cannot gather along the axis that the products sum over");
  const std::int64_t ranks =
      ranks_of(c, result.shape[static_cast<std::size_t>(axis)], b.type(a).shape[static_cast<std::size_t>(axis)]);
  const ValueId first = b.move_axis(a, axis, 0);
  const ValueId gathered = b.move_axis(add_collective(b, c, first, CollectiveKind::all_gather, ranks, ""), 0, axis);
  Values results = {is_full ? gathered : kNoValue};
  for (const ValueId right : right_operands) results.push_back(b.matmul(gathered, right));
  return results;
}

/// A part of the sum of all ranks' products, along an axis.
Values matmul_reduce_scatter(Builder& b, const Call& c) {
  const ValueId product = b.matmul(c.tensor("A"), c.tensor("B"));
  const std::int64_t axis = axis_of(b, product, c.integer("scatter_dim"));
  const auto index = static_cast<std::size_t>(axis);
  const std::int64_t ranks = ranks_of(c, b.type(product).shape[index], c.declared[0].shape[index]);
  const ValueId first = b.move_axis(product, axis, 0);
  return {
      b.move_axis(add_collective(b, c, first, CollectiveKind::reduce_scatter, ranks, c.text("reduce_op")), 0, axis)};
}

constexpr Lowering kSymmetricMemoryLowerings[] = {
    {"symm_mem._low_contention_all_gather.default", all_gather_symmetric},
    {"symm_mem._low_contention_all_gather_ce_multicast.default", all_gather_symmetric},
    {"symm_mem._low_contention_reduce_scatter.default", reduce_scatter_symmetric},
    {"symm_mem.fused_all_gather_matmul.default", all_gather_matmul},
    {"symm_mem.fused_matmul_reduce_scatter.default", matmul_reduce_scatter},
    {"symm_mem.one_shot_all_reduce.default", all_reduce_symmetric},
    {"symm_mem.one_shot_all_reduce_copy.default", all_reduce_copy},
};

}  // namespace

std::span<const Lowering> symmetric_memory_lowerings() {
  return kSymmetricMemoryLowerings;
}

}  // namespace tern
