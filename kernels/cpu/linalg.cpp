// Owned: linear algebra and fft are being written here now; see git log.
// The kernels of linear algebra and transforms, by op.
#include "kernels/kernel.h"

namespace tern {

void register_cpu_linalg(KernelTable&) {}

}  // namespace tern
