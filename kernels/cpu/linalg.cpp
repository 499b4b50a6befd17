// The kernels of linear algebra and transforms, by op.
#include "kernels/kernel.h"

namespace tern {

void register_cpu_linalg(KernelTable&) {}

}  // namespace tern
