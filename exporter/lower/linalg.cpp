// Owned: linear algebra and fft are being written here now; see git log.
// Lowerings: linalg.
#include "exporter/lower/lower.h"

namespace tern {

std::span<const Lowering> linalg_lowerings() { return {}; }

}  // namespace tern
