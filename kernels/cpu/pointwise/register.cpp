#include "kernels/cpu/pointwise/kernels.h"

namespace tern {

void register_cpu_pointwise(KernelTable& t) {
  pointwise::register_pointwise(t);
  pointwise::register_sources(t);
  pointwise::register_random(t);
  pointwise::register_quantized(t);
}

}  // namespace tern
