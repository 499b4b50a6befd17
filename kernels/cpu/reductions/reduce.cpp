#include "kernels/cpu/reductions/reduce.h"

#include "kernels/cpu/reductions/reductions.h"
#include "schema/kinds.h"

namespace tern {

ReductionAxes reduction_axes(const KernelCall& c) {
  const TensorView& x = c.in[0];
  const Dims& reduced_axes = c.node->dims(AttrKey::axes);
  ReductionAxes axes;
  for (int i = 0; i < x.rank; ++i) {
    const bool reduced = reduced_axes.empty() || std::any_of(reduced_axes.begin(), reduced_axes.end(), [&](Dim a) {
                           return (a.value() < 0 ? a.value() + x.rank : a.value()) == i;
                         });
    (reduced ? axes.reduced : axes.retained).add(x.size(i), x.stride(i));
  }
  return axes;
}

namespace {

void reduce_along(KernelCall& c, const ReductionAxes& axes) {
  switch (static_cast<ReduceKind>(c.node->integer(AttrKey::kind))) {
    case ReduceKind::sum:
    case ReduceKind::mean: return reduce_sum(c, axes);
    case ReduceKind::prod:
    case ReduceKind::any:
    case ReduceKind::all:
    case ReduceKind::bit_xor: return reduce_prod(c, axes);
    case ReduceKind::max:
    case ReduceKind::min: return reduce_extremum(c, axes);
    case ReduceKind::argmax:
    case ReduceKind::argmin: return reduce_argument(c, axes);
    case ReduceKind::var: return reduce_variance(c, axes);
  }
}

}  // namespace

std::unique_ptr<KernelState> prepare_cpu_reduce(const KernelCall& c) {
  return c.node->expr.code.empty() ? nullptr : std::make_unique<FusedOperand>(c);
}

void cpu_reduce(KernelCall& c) {
  if (c.node->expr.code.empty()) return reduce_along(c, reduction_axes(c));
  std::unique_ptr<KernelState> own;
  if (c.state == nullptr) own = prepare_cpu_reduce(c);
  const auto& operand = static_cast<const FusedOperand&>(own ? *own : *c.state);
  const FusedOperand::Operands operands(operand, c);
  TensorView x = operand.view();
  KernelCall of_values = c;
  of_values.in = {&x, 1};
  ReductionAxes axes = reduction_axes(of_values);
  axes.operand = &operand;
  axes.operand_call = &operands.call();
  reduce_along(of_values, axes);
}

}  // namespace tern
