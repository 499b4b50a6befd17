#include "kernels/cpu/reductions/reduce.h"

#include "kernels/cpu/reductions/reductions.h"
#include "schema/kinds.h"

namespace tern {

ReducePlan plan_reduce(const KernelCall& c) {
  const TensorView& x = c.in[0];
  const Dims& axes = c.node->dims(AttrKey::axes);
  ReducePlan plan;
  for (int i = 0; i < x.rank; ++i) {
    const bool reduced = axes.empty() || std::any_of(axes.begin(), axes.end(), [&](Dim a) {
                           return (a.value() < 0 ? a.value() + x.rank : a.value()) == i;
                         });
    (reduced ? plan.reduced : plan.kept).add(x.size(i), x.stride(i));
  }
  return plan;
}

void cpu_reduce(KernelCall& c) {
  const ReducePlan plan = plan_reduce(c);
  switch (static_cast<ReduceKind>(c.node->integer(AttrKey::kind))) {
    case ReduceKind::sum:
    case ReduceKind::mean: return reduce_sum(c, plan);
    case ReduceKind::prod:
    case ReduceKind::any:
    case ReduceKind::all:
    case ReduceKind::bit_xor: return reduce_prod(c, plan);
    case ReduceKind::max:
    case ReduceKind::min: return reduce_extremum(c, plan);
    case ReduceKind::argmax:
    case ReduceKind::argmin: return reduce_argument(c, plan);
    case ReduceKind::var: return reduce_variance(c, plan);
  }
}

}  // namespace tern
