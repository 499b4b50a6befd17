// Lowerings: fft.
#include "exporter/lower/lower.h"

namespace tern {

std::span<const Lowering> fft_lowerings() { return {}; }

}  // namespace tern
