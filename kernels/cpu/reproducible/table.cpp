#include "kernels/cpu/pointwise/kernels.h"
#include "kernels/reproducible.h"

namespace tern {

const KernelTable& reproducible_cpu_kernels() {
  static const KernelTable table = [] {
    KernelTable t = cpu_kernels();
    pointwise::register_reproducible_pointwise(t);
    return t;
  }();
  return table;
}

}  // namespace tern
