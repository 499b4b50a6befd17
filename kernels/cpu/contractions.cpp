// The kernels of contractions and windows, by op.
#include "kernels/kernel.h"

namespace tern {

void register_cpu_contractions(KernelTable&) {}

}  // namespace tern
