#include "kernels/cpu/pointwise/kernels.h"
#include "kernels/cpu/reductions/reductions.h"
#include "kernels/cpu/reproducible/contractions.h"
#include "kernels/cpu/reproducible/reproducible.h"
#include "kernels/portable/compiled.h"
#include "kernels/reproducible.h"

namespace tern {

const KernelTable& reproducible_cpu_kernels() {
  static const KernelTable table = [] {
    KernelTable t = cpu_kernels();
    pointwise::register_reproducible_pointwise(t);
    register_reproducible_reduce(t);
    register_reproducible_softmax(t);
    register_reproducible_normalizations(t);
    t.kernels[static_cast<std::size_t>(Op::sort)].run = cpu_stable_sort;
    t.kernels[static_cast<std::size_t>(Op::topk)].run = cpu_stable_topk;
    reproducible::register_contractions(t);
    portable::add_definitions(t, true);
    return t;
  }();
  return table;
}

}  // namespace tern
