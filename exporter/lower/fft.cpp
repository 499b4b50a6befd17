// Owned: linear algebra and fft are being written here now; see git log.
// Lowerings: fft.
#include "exporter/lower/lower.h"

namespace tern {

std::span<const Lowering> fft_lowerings() { return {}; }

}  // namespace tern
