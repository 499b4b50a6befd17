// Lowerings: vision.
#include "exporter/lower/lower.h"

namespace tern {

std::span<const Lowering> vision_lowerings() { return {}; }

}  // namespace tern
