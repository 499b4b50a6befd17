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
    (reduced ? axes.reduced : axes.kept).add(x.size(i), x.stride(i));
  }
  return axes;
}

void cpu_reduce(KernelCall& c) {
  const ReductionAxes axes = reduction_axes(c);
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

}  // namespace tern
