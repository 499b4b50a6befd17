#include "kernels/reproducible.h"

namespace tern {

const KernelTable& reproducible_cpu_kernels() {
  static const KernelTable table = [] {
    KernelTable t = cpu_kernels();
    return t;
  }();
  return table;
}

}  // namespace tern
